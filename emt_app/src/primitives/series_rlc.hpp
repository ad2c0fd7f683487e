// Series R–L–C branch: i = g·(u + y1 - y2), with history voltages y1 of the inductor and y2 of the capacitor.
#ifndef EMT_PRIMITIVES_SERIES_RLC_HPP
#define EMT_PRIMITIVES_SERIES_RLC_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct SeriesRlcRows {
    Slots<2> at;
    double *y1, *y2;      // V
    const double* g;      // S
    StepRows e1, f1, e2;  // y1' = e1·i + f1·y1, y2' = e2·i + y2
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(y1, at.count);
        l.written(y2, at.count);
        l.constant(g, at.count);
        l.step(e1, at.count);
        l.step(f1, at.count);
        l.step(e2, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// Voltages of L and C as seen by their common current (Dommel 1969; EMTP Theory Book, ch. 2):
//   v_L = zl·i - y1,  y1' = 2zl·i - y1        zl = 2L/Δt      half steps of backward Euler:  y1' = zl·i
//   v_C = zc·i + y2,  y2' = 2zc·i + y2        zc = Δt/2C                                     y2' = zc·i + y2
// From u = R·i + v_L + v_C follows i = (u + y1 - y2)/(R + zl + zc).
[[gnu::always_inline]] inline void assemble(const SeriesRlcRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec u = t.get(nodes.v, 0) - t.get(nodes.v, 1), g = row(b.g, s);
        Vec y1 = row(b.y1, s), y2 = row(b.y2, s);
        const Vec i = g * (u + y1 - y2);
        y1 = row(b.e1[kind], s) * i + row(b.f1[kind], s) * y1;
        y2 = row(b.e2[kind], s) * i + y2;
        row(b.y1, s) = y1;
        row(b.y2, s) = y2;
        const Vec h = g * (y1 - y2);
        t.add(nodes.j, 0, -h);
        t.add(nodes.j, 1, h);
    }
}

}  // namespace EMT_KERNEL
#else

struct SeriesRlc {
    using Rows = SeriesRlcRows;
    static constexpr double kStepNs = 4.8;

    Nodes2 node;
    double g;       // S
    double zl, zc;  // 2L/Δt and Δt/2C, ohm

    template <class Matrix>
    void stamp(Matrix& y) const { y.pair(node, g); }
    void stamp_phasor(PhasorEquations& y) const {
        y.pair(node, g / (1.0 - g * 2 * zl / (y.z + 1.0) + g * 2 * zc / (y.z - 1.0)));
    }
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.at(rows.g, slot) = g;
        lane.step(rows.e1, slot, 2 * zl, zl);
        lane.step(rows.f1, slot, -1, 0);
        lane.step(rows.e2, slot, 2 * zc, zc);
        const Complex kl = 2 * zl / (lane.z + 1.0), kc = 2 * zc / (lane.z - 1.0);
        const Complex i = g * lane.phasor_across(node[0], node[1]) / (1.0 - g * kl + g * kc);
        lane.at(rows.y1, slot) = lane.steady() ? (kl * i).real() : -lane.initial_across(node[0], node[1]);
        lane.at(rows.y2, slot) = (kc * i).real();
    }
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int) const {
        return g * (now.across(node) + now.at(rows.y1, slot) - now.at(rows.y2, slot));
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(SeriesRlc, rlcs)
