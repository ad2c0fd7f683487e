// Three coupled R–L branches with EMF e (V) and a current j (A) injected into their first nodes, out of their second:
//   i = G·(u - e) + h,   h' = A·(u - e) + B·h.
#ifndef EMT_PRIMITIVES_COUPLED_HPP
#define EMT_PRIMITIVES_COUPLED_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct Coupled3Rows {
    Slots<6> at;
    double* h;           // 3 rows a slot: history current, A
    double *e, *j;       // 3 rows a slot: EMF before and injected current after the step of sources that are not steady
    const double* ge;    // 6 rows a slot: phasor of G·e plus the injected current, real and imaginary part
    StepRows a, b;       // 9 rows a slot
    StepRows ae;         // 6 rows a slot: phasor of A·e
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(h, 3 * at.count);
        l.state(e, 3 * at.count);
        l.state(j, 3 * at.count);
        l.constant(ge, 6 * at.count);
        l.step(a, 9 * at.count);
        l.step(b, 9 * at.count);
        l.step(ae, 6 * at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// h' = A·(u - e) + B·h with matrices (EMTP Theory Book, ch. 3; coefficients in companion_coupled()). A steady source is
// e(t) = Re(E·exp(jωt)): A·e before and G·e after the step are turned phasors, Re·cos - Im·sin.
[[gnu::always_inline]] inline void assemble(const Coupled3Rows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        Vec u[3], h[3];
        for (int i = 0; i < 3; ++i) {
            u[i] = t.get(nodes.v, i) - t.get(nodes.v, 3 + i) - row(b.e, 3 * s + i);
            h[i] = row(b.h, 3 * s + i);
        }
        for (int i = 0; i < 3; ++i) {
            Vec x = row(b.ae[kind], 6 * s + 3 + i) * clock.sin_old - row(b.ae[kind], 6 * s + i) * clock.cos_old;
            for (int m = 0; m < 3; ++m)
                x += row(b.a[kind], 9 * s + 3 * i + m) * u[m] + row(b.b[kind], 9 * s + 3 * i + m) * h[m];
            row(b.h, 3 * s + i) = x;
            const Vec in = row(b.ge, 6 * s + i) * clock.cos_new - row(b.ge, 6 * s + 3 + i) * clock.sin_new + row(b.j, 3 * s + i) - x;
            t.add(nodes.j, i, in);
            t.add(nodes.j, 3 + i, -in);
        }
    }
}

}  // namespace EMT_KERNEL
#else

struct Coupled3 {
    using Rows = Coupled3Rows;
    static constexpr double kStepNs = 18;

    Nodes6 node;         // where the branches begin, and where they end
    Mat3 g{}, a{}, b{}, a_be{}, b_be{};
    std::array<Waveform, 3> emf{};
    std::array<Waveform, 3> current{};

    template <class Matrix>
    void stamp(Matrix& y) const {
        y.coupled(node, [&](std::size_t i, std::size_t k) { return g[i * 3 + k]; });
    }
    void stamp_phasor(PhasorEquations& y) const;
    void start(const LaneStart& lane, const Rows& rows, int slot) const;

    /// Returns the current of branch k, from its first node to its second: i = G·(u - e) + h - j.
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int k) const;

    [[nodiscard]] std::array<const Waveform*, 6> sources() const {
        return {&emf[0], &current[0], &emf[1], &current[1], &emf[2], &current[2]};
    }
    /// Returns true if a source is no phasor at the case's frequency and must be evaluated at each step.
    [[nodiscard]] bool each_step(double frequency_hz) const;
    void before_step(const Rows& rows, int slot, int lane, double frequency_hz, const StepTimes& t) const;
};

/// Returns true if no current makes a symmetric matrix deliver power (R) or hold negative energy (L).
[[nodiscard]] bool passive(const Mat3& symmetric);
/// Sets g, a, b, a_be, b_be of three coupled R–L branches with full matrices. Returns false if R + 2L/Δt is singular.
[[nodiscard]] bool companion_coupled(const Mat3& r_ohm, const Mat3& l_henry, double dt_s, Coupled3& out);
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(Coupled3, coupled)
