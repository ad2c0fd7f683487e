// Three ideal two-winding units, each in series with its leakage R–L:
//   u_k = (P_k - m1·P_{k+1}) - n·(S_k - m2·S_{k+1}),   i_k = g·u_k + h_k,   m = 1 for a delta winding, 0 for a star.
#ifndef EMT_PRIMITIVES_TRANSFORMER_HPP
#define EMT_PRIMITIVES_TRANSFORMER_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct Transformer3Rows {
    Slots<6> at;
    double* h;                       // 3 rows a slot: history current of each unit, A
    const double *ratio, *m1, *m2;
    StepRows a, b;
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(h, 3 * at.count);
        l.constant(ratio, at.count);
        l.constant(m1, at.count);
        l.constant(m2, at.count);
        l.step(a, at.count);
        l.step(b, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// Ideal transformer in nodal analysis (EMTP Theory Book, ch. 6): the current i_k of the leakage enters P_k and leaves
// P_{k+1} of a delta, and leaves n-fold through S_k. Leakage as a branch: h' = a·u + b·h (Dommel 1969).
[[gnu::always_inline]] inline void assemble(const Transformer3Rows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec ratio = row(b.ratio, s), m1 = row(b.m1, s), m2 = row(b.m2, s);
        const Vec a = row(b.a[kind], s), c = row(b.b[kind], s);
        Vec v[6], h[3];
        for (int i = 0; i < 6; ++i) v[i] = t.get(nodes.v, i);
        for (int i = 0; i < 3; ++i) {
            const int next = (i + 1) % 3;
            const Vec u = (v[i] - m1 * v[next]) - ratio * (v[3 + i] - m2 * v[3 + next]);
            h[i] = a * u + c * row(b.h, 3 * s + i);
            row(b.h, 3 * s + i) = h[i];
        }
        for (int i = 0; i < 3; ++i) {
            const int last = (i + 2) % 3;
            t.add(nodes.j, i, m1 * h[last] - h[i]);
            t.add(nodes.j, 3 + i, ratio * (h[i] - m2 * h[last]));
        }
    }
}

}  // namespace EMT_KERNEL
#else

struct Transformer3 {
    using Rows = Transformer3Rows;
    static constexpr double kStepNs = 20;

    Nodes6 node;    // primary, secondary
    double g;       // of the leakage, S
    Companion c;
    double ratio;   // n: turns of the primary winding per turn of the secondary
    double m1, m2;

    template <class Matrix>
    void stamp(Matrix& y) const { stamp_units(y, g); }
    void stamp_phasor(PhasorEquations& y) const { stamp_units(y, c.admittance(g, y.z)); }
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.step(rows.a, slot, c.a, c.a_be);
        lane.step(rows.b, slot, c.b, c.b_be);
        lane.at(rows.ratio, slot) = ratio;
        lane.at(rows.m1, slot) = m1;
        lane.at(rows.m2, slot) = m2;
        for (std::size_t k = 0; k < 3; ++k) {
            const std::size_t next = (k + 1) % 3;
            const auto winding = [&](const auto& v) { return v(node[k]) - m1 * v(node[next]) - ratio * (v(node[3 + k]) - m2 * v(node[3 + next])); };
            lane.at(rows.h, 3 * slot + static_cast<int>(k)) =
                lane.steady() ? (c.a * winding([&](int i) { return lane.phasor(i); }) / (lane.z - c.b)).real()
                              : -g * winding([&](int i) { return lane.initial(i); });
        }
    }
    /// Returns the current through the leakage of unit k, into its primary winding.
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int k) const {
        const auto i = static_cast<std::size_t>(k), next = (i + 1) % 3;
        const double u = now.voltage(node[i]) - m1 * now.voltage(node[next]) - ratio * (now.voltage(node[3 + i]) - m2 * now.voltage(node[3 + next]));
        return g * u + now.at(rows.h, 3 * slot + k);
    }

private:
    template <class Matrix, class Y>
    void stamp_units(Matrix& matrix, const Y& y) const {
        for (std::size_t k = 0; k < 3; ++k) {
            const std::array<int, 4> at{node[k], node[(k + 1) % 3], node[3 + k], node[3 + (k + 1) % 3]};
            const std::array<double, 4> weight{1, -m1, -ratio, ratio * m2};
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 4; ++j) matrix.entry(at[i], at[j], y * weight[i] * weight[j]);
        }
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(Transformer3, transformers)
