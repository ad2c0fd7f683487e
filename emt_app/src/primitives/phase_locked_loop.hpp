// Phase-locked loop on a three-phase voltage: the angle of its positive sequence beyond that of the case's frequency, and its
// frequency, as signals.
#ifndef EMT_PRIMITIVES_PHASE_LOCKED_LOOP_HPP
#define EMT_PRIMITIVES_PHASE_LOCKED_LOOP_HPP
#include "primitives/primitive.hpp"
#ifdef EMT_KERNEL
#include "base/elementary.hpp"
#endif

namespace emt {

struct PhaseLockedLoopRows {
    Slots<3> at;
    double *angle, *drift, *last_rate, *last_error, *published;  // turns, Hz, Hz, 1; two rows a slot
    const double *frequency, *kp, *ki, *floor;                   // Hz, Hz, Hz/s, V
    StepRows now, last;                                          // s
    template <class Layout>
    void lay_out(Layout& l) {
        for (double** r : {&angle, &drift, &last_rate, &last_error}) l.written(*r, at.count);
        l.written(published, 2 * at.count);
        for (const double** r : {&frequency, &kp, &ki, &floor}) l.constant(*r, at.count);
        for (StepRows* r : {&now, &last}) l.step(*r, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// In the synchronous reference frame (V. Kaura, V. Blasko, "Operation of a phase locked loop system under distorted utility
// conditions", IEEE Trans. Industry Applications 33(1), 1997): with the Clarke components of v, θ = 2π(f₀t + δ) and their magnitude m,
//   e = (v_β·cos θ - v_α·sin θ)/max(m, floor),   dδ/dt = r = k_p·e + w,   dw/dt = k_i·e.
// δ, not θ, is the state: it stands still in the steady state and needs no wrapping. By the method of Adams and Bashforth of second order,
// x_{n+1} = x_n + Δt·(3/2·x'_n - 1/2·x'_{n-1}), as δ_n is needed for e_n; half steps are Euler's.
[[gnu::always_inline]] inline void publish(const PhaseLockedLoopRows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    constexpr double kInverseRoot3 = 0.57735026918962576451;
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec vb = t.get(nodes.v, 1), vc = t.get(nodes.v, 2);
        const Vec alpha = (2.0 / 3) * (t.get(nodes.v, 0) - 0.5 * (vb + vc)), beta = kInverseRoot3 * (vb - vc);
        Vec m = alpha * alpha + beta * beta;
        for (int l = 0; l < kLanes; ++l) m[l] = __builtin_sqrt(m[l]);
        m = m > row(b.floor, s) ? m : row(b.floor, s);
        m = m > 0.0 ? m : Vec{} + 1.0;  // lanes without this slot
        const Vec f = row(b.frequency, s), angle = row(b.angle, s), drift = row(b.drift, s);
        const auto at = cos_sin<Vec>(f * clock.t_old + angle);
        const Vec error = (beta * at.cos - alpha * at.sin) / m, rate = row(b.kp, s) * error + drift;
        row(b.published, 2 * s) = angle;
        row(b.published, 2 * s + 1) = f + drift;
        const Vec now = row(b.now[kind], s), last = row(b.last[kind], s);
        row(b.angle, s) = angle + (now * rate + last * row(b.last_rate, s));
        row(b.drift, s) = drift + row(b.ki, s) * (now * error + last * row(b.last_error, s));
        row(b.last_rate, s) = rate;
        row(b.last_error, s) = error;
    }
}
[[gnu::always_inline]] inline void assemble(const PhaseLockedLoopRows&, const NodeRows&, int, const StepClock&) {}

}  // namespace EMT_KERNEL
#else

struct PhaseLockedLoop {
    using Rows = PhaseLockedLoopRows;
    static constexpr double kStepNs = 30;

    Nodes3 node;
    double kp, ki;      // Hz, Hz/s
    double floor_v;     // magnitude below which the loop is slower, V
    std::array<int, 2> publishes;

    template <class Matrix>
    void stamp(Matrix&) const {}
    void stamp_phasor(PhasorEquations&) const {}
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.at(rows.frequency, slot) = lane.frequency_hz;
        lane.at(rows.kp, slot) = kp;
        lane.at(rows.ki, slot) = ki;
        lane.at(rows.floor, slot) = floor_v;
        lane.step(rows.now, slot, 1.5 * lane.dt_s, 0.5 * lane.dt_s);
        lane.step(rows.last, slot, -0.5 * lane.dt_s, 0);
        const Complex positive = (lane.phasor(node[0]) + unit_phasor(1.0 / 3) * lane.phasor(node[1]) + unit_phasor(-1.0 / 3) * lane.phasor(node[2])) / 3.0;
        lane.at(rows.angle, slot) = turns_of(positive);
        lane.publish(publishes[0], turns_of(positive));
        lane.publish(publishes[1], lane.frequency_hz);
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(PhaseLockedLoop, phase_locked_loops)
