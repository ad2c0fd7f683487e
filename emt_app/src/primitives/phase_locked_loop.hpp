// Phase-locked loop on a three-phase voltage. Signals: the angle of its positive sequence relative to the case's
// frequency, and its frequency.
#ifndef EMT_PRIMITIVES_PHASE_LOCKED_LOOP_HPP
#define EMT_PRIMITIVES_PHASE_LOCKED_LOOP_HPP
#include "primitives/measuring.hpp"
#ifdef EMT_KERNEL
#include "base/elementary.hpp"
#endif

namespace emt {

struct PhaseLockedLoopRows : MeasuringRows {
    Slots<3> at;
    double *angle, *drift, *published;           // histories, turns and Hz; angle and frequency, two rows a slot
    const double *frequency, *kp, *ki, *floor;   // Hz, Hz, Hz/s, V
    const double* half;                          // of a step, s
    StepRows carried;                            // s
    template <class Layout>
    void lay_out(Layout& l) {
        for (double** r : {&angle, &drift}) l.written(*r, at.count);
        l.written(published, 2 * at.count);
        for (const double** r : {&frequency, &kp, &ki, &floor, &half}) l.constant(*r, at.count);
        l.step(carried, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// In the synchronous reference frame (V. Kaura, V. Blasko, "Operation of a phase locked loop system under distorted utility
// conditions", IEEE Trans. Industry Applications 33(1), 1997): with the Clarke components of v, θ = 2π(f₀t + δ) and their magnitude m,
//   e = (v_β·cos θ - v_α·sin θ)/max(m, floor),   dδ/dt = r = k_p·e + w,   dw/dt = k_i·e.
// δ, not θ, is the state: it stands still in the steady state and needs no wrapping. By the trapezoidal rule with η = Δt/2,
//   w_n = h_w + η·k_i·e_n,   δ_n = h_δ + η·r_n,   then h_w = w_n + η·k_i·e_n, h_δ = δ_n + η·r_n,
// or h_w = w_n, h_δ = δ_n for half steps of backward Euler. e_n is e at δ = h_δ + η·h_w, corrected along its tangent:
// e_n = e/(1 + 2π·c·d) with c = η·(k_p + η·k_i), d = (v_α·cos θ + v_β·sin θ)/max(m, floor).
[[gnu::always_inline]] inline void publish(const PhaseLockedLoopRows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    constexpr double kInverseRoot3 = 0.57735026918962576451, kTurn = 6.28318530717958647693;
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec vb = t.get(nodes.v, 1), vc = t.get(nodes.v, 2);
        const Vec alpha = (2.0 / 3) * (t.get(nodes.v, 0) - 0.5 * (vb + vc)), beta = kInverseRoot3 * (vb - vc);
        Vec m = alpha * alpha + beta * beta;
        for (int l = 0; l < kLanes; ++l) m[l] = __builtin_sqrt(m[l]);
        m = m > row(b.floor, s) ? m : row(b.floor, s);
        m = m > 0.0 ? m : Vec{} + 1.0;  // lanes without this slot
        const Vec f = row(b.frequency, s), kp = row(b.kp, s), ki = row(b.ki, s), half = row(b.half, s);
        const Vec guess = row(b.angle, s) + half * row(b.drift, s);
        const auto at = cos_sin<Vec>(f * clock.t_old + guess);
        const Vec c = half * (kp + half * ki);
        const Vec error = (beta * at.cos - alpha * at.sin) / (m + kTurn * (c * (alpha * at.cos + beta * at.sin)));
        const Vec drift = row(b.drift, s) + half * (ki * error), rate = kp * error + drift, angle = row(b.angle, s) + half * rate;
        row(b.published, 2 * s) = angle;
        row(b.published, 2 * s + 1) = f + drift;
        const Vec carried = row(b.carried[kind], s);
        row(b.angle, s) = angle + carried * rate;
        row(b.drift, s) = drift + carried * (ki * error);
    }
}

}  // namespace EMT_KERNEL
#else

struct PhaseLockedLoop : Measuring {
    using Rows = PhaseLockedLoopRows;
    static constexpr double kStepNs = 30;

    Nodes3 node;
    double kp, ki;      // Hz, Hz/s
    double floor_v;     // the loop is slower below this magnitude, V
    std::array<int, 2> publishes;

    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.at(rows.frequency, slot) = lane.frequency_hz;
        lane.at(rows.kp, slot) = kp;
        lane.at(rows.ki, slot) = ki;
        lane.at(rows.floor, slot) = floor_v;
        lane.at(rows.half, slot) = lane.dt_s / 2;
        lane.step(rows.carried, slot, lane.dt_s / 2, 0);
        const Complex positive = lane.positive_sequence(node);
        lane.at(rows.angle, slot) = turns_of(positive);
        lane.publish(publishes[0], turns_of(positive));
        lane.publish(publishes[1], lane.frequency_hz);
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(PhaseLockedLoop, phase_locked_loops)
