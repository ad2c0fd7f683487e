// Synchronous machine: stator in phase coordinates, rotor windings in the d and q axis, a shaft of up to six masses.
//
// Per unit on the machine's base, peak phase values; the q axis leads the d axis, which is at θ = 2π(f·t + δ) before phase a;
// currents leave the machine (P. Kundur, Power System Stability and Control, 1994, ch. 3; reciprocal per-unit system). With
// k = ω·Δt/2 and the trapezoidal rule for every winding:
//     stator      ψ_αβ = k·(v_αβ + Ra·i_αβ) + Ψ_αβ         Ψ known; in phase coordinates, where no speed appears
//     rotor       ψ_r = w - k·R·i_r                        w known, with the field's voltage in it
//     fluxes      ψ_d = -Ll·i_d + L_ad·(i_fd + i_1d - i_d - s_d), the same for q
// where the magnetising current ψ_ad/L_ad + s_d is nonlinear: 1/L_ad contains its tangent, and s is the remainder.
// Without the rotor's currents, ψ_d = -L*·i_d + c·w - (L* - Ll)·s_d. In the rotor's coordinates at the end of the step,
//     i_d = h_d - k·m_d·v_d,     m_d = 1/(k·Ra + L*_d),     h_d = m_d·(c·w - (L* - Ll)·s_d - Ψ_d).
// The shaft moves before the solution of the network (its position needs no torque of the new instant), so θ is known.
// Half steps of backward Euler have the same left side (critical damping adjustment, Martí and Lin 1989).
//
// The nodal equations have the smaller of the conductances k·m_d and k·m_q at any angle. The excess of the other acts
// in one direction only, Δy·p·pᵀ with p along that axis, and is added to each solution: see compensate().
#ifndef EMT_PRIMITIVES_SYNCHRONOUS_MACHINE_HPP
#define EMT_PRIMITIVES_SYNCHRONOUS_MACHINE_HPP
#include "primitives/primitive.hpp"
#include "base/elementary.hpp"
#ifndef EMT_KERNEL
#include <algorithm>
#include <string>
#include <vector>
#endif

namespace emt {

inline constexpr int kMasses = 6, kPublished = 5;

struct SynchronousMachineRows {
    Slots<3> at;
    Slots<2> reads;       // voltage of the field and power of the turbine, per unit; 0 without a signal
    // Written by each step. Angles in turns against the synchronous frame, speeds as deviation per unit.
    double* history;      // 3 rows a slot: h_d, h_q, h_0
    double* flux;         // 3: Ψ_α, Ψ_β, Ψ_0
    double* rotor;        // 4: w of field and damper of the d axis, of both windings of the q axis
    double* saturation;   // 4: s_d, s_q as assumed in the solution, and as its results
    double* axis;         // 2: cos θ, sin θ of the solution
    double* angle;        // kMasses: δ of each mass
    double* speed;        // kMasses: of each mass, between the solutions; after publish() at the solution
    double* torque;       // 1: of the air gap
    double* power;        // 1: of the turbine, held from solution to solution
    double* published;    // kPublished: speed, terminal voltage, power, field current (per unit), angle of the EMF (degrees)
    double* last_step;    // 1: length of the last step, in steps
    double* direction;    // 3: p, √S
    // Coefficients.
    const double *per_volt, *ampere;             // 1/V and A of the base
    const double *k, *k0, *ra, *r0, *xl;         // k and k0 of the zero sequence; per unit
    const double* m;                             // 3: m_d, m_q, m_0
    const double* rotor_b;                       // 6: of each axis, (L + kR)⁻¹ of the windings: 11, 12, 22
    const double* rotor_main;                    // 2: L_ad, L_aq with the tangent of the saturation
    const double* rotor_kr;                      // 4: k·R of each winding
    const double* rotor_c;                       // 4: c
    const double* less;                          // 2: L* - Ll
    const double* knee;                          // 4: A and B/L_ad of the saturation, 1 if in both axes, its tangent
    const double* salient;                       // 2: √Δy along d and along q, √S
    const double* turns;                         // 1: f·Δt
    const double* kick;                          // kMasses: Δt/4H
    const double *share, *generator;             // kMasses each: of the mechanical torque; 1 at the generator's mass
    const double *spring, *damping, *between;    // kMasses each: per turn, to the next mass; of itself, to the next, per speed
    const double* masses;                        // 1
    const double* constant;                      // 2: voltage of the field and torque of the turbine without a signal
    const double* field;                         // 2: k·R_fd/L_ad; L_ad without saturation, the unit of the field's current
    template <class Layout>
    void lay_out(Layout& l) {
        const int n = at.count;
        l.written(history, 3 * n);
        l.written(flux, 3 * n);
        l.written(rotor, 4 * n);
        l.written(saturation, 4 * n);
        l.written(axis, 2 * n);
        l.written(angle, kMasses * n);
        l.written(speed, kMasses * n);
        l.written(torque, n);
        l.written(last_step, n);
        l.written(power, n);
        l.written(published, kPublished * n);
        l.written(direction, 3 * n);
        for (const double** r : {&per_volt, &ampere, &k, &k0, &ra, &r0, &xl, &turns, &masses}) l.constant(*r, n);
        for (const double** r : {&rotor_main, &less, &salient, &constant, &field}) l.constant(*r, 2 * n);
        l.constant(m, 3 * n);
        for (const double** r : {&rotor_kr, &rotor_c, &knee}) l.constant(*r, 4 * n);
        l.constant(rotor_b, 6 * n);
        for (const double** r : {&kick, &share, &generator, &spring, &damping, &between}) l.constant(*r, kMasses * n);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

constexpr double kThird = 0.33333333333333333333, kRootThird = 0.57735026918962576451, kHalfRoot3 = 0.86602540378443864676,
                 kRootTwoThirds = 0.81649658092772603273;

// Current of the saturation, along the flux of the air gap: B·(ψ - A)²/L_ad above A (the quadratic characteristic of the
// models GENROU and GENSAL). For salient poles, ψ is the flux of the d axis.
// s is this current less the current of the tangent.
[[gnu::always_inline]] inline void saturate(const SynchronousMachineRows& b, int s, const Vec& flux_d, const Vec& flux_q) {
    const Vec knee = row(b.knee, 4 * s), factor = row(b.knee, 4 * s + 1), both = row(b.knee, 4 * s + 2);
    const Vec square = flux_d * flux_d + both * (flux_q * flux_q);
    Vec length;
    for (int l = 0; l < kLanes; ++l) length[l] = __builtin_sqrt(square[l]);
    const Vec over = length - knee;
    const Vec scale = (over > 0.0 ? factor * over * over / length : Vec{}) - row(b.knee, 4 * s + 3);
    row(b.saturation, 4 * s + 2) = scale * flux_d;
    row(b.saturation, 4 * s + 3) = scale * both * flux_q;
}

// Speed-dependent torque against each mass: friction, D·ω + C·(ω - ω') to each neighbour, and for a turbine of given
// power its loss of torque with rising speed.
template <int Masses>
[[gnu::always_inline]] inline Vec friction(const SynchronousMachineRows& b, int s, int i, const Vec* speed) {
    const int at = kMasses * s + i;
    Vec sum = row(b.damping, at) * speed[i] - row(b.share, at) * row(b.power, s) / (1.0 + speed[i]);
    if (i + 1 < Masses) sum += row(b.between, at) * (speed[i] - speed[i + 1]);
    if (i > 0) sum -= row(b.between, at - 1) * (speed[i - 1] - speed[i]);
    return sum;
}

// Torques on each mass at a known position: turbine, air gap, springs.
template <int Masses>
[[gnu::always_inline]] inline Vec drive(const SynchronousMachineRows& b, int s, int i) {
    const int at = kMasses * s + i;
    Vec sum = row(b.share, at) * row(b.constant, 2 * s + 1) - row(b.generator, at) * row(b.torque, s);
    if (i + 1 < Masses) sum -= row(b.spring, at) * (row(b.angle, at) - row(b.angle, at + 1));
    if (i > 0) sum += row(b.spring, at - 1) * (row(b.angle, at - 1) - row(b.angle, at));
    return sum;
}

// 2H·dω/dt = torques by the velocity form of Verlet's method (L. Verlet, Phys. Rev. 159, 1967; W. C. Swope et al., J. Chem.
// Phys. 76, 1982): half a step of speed, a step of angle with it, half a step of speed with the torques of the new instant.
// Friction depends on the speed that it changes: two corrections leave an error of third order in the step.
template <int Masses>
[[gnu::always_inline]] inline void arrive(const SynchronousMachineRows& b, int s) {
    Vec known[Masses], begin[Masses], speed[Masses];
    for (int i = 0; i < Masses; ++i) {
        begin[i] = speed[i] = row(b.speed, kMasses * s + i);
        known[i] = drive<Masses>(b, s, i);
    }
    for (int correction = 0; correction < 2; ++correction) {
        Vec next[Masses];
        for (int i = 0; i < Masses; ++i)
            next[i] = begin[i] + row(b.last_step, s) * row(b.kick, kMasses * s + i) * (known[i] - friction<Masses>(b, s, i, speed));
        for (int i = 0; i < Masses; ++i) speed[i] = next[i];
    }
    for (int i = 0; i < Masses; ++i) row(b.speed, kMasses * s + i) = speed[i];
}
template <int Masses>
[[gnu::always_inline]] inline Vec depart(const SynchronousMachineRows& b, int s, double steps) {
    Vec speed[Masses], next[Masses];
    for (int i = 0; i < Masses; ++i) speed[i] = row(b.speed, kMasses * s + i);
    for (int i = 0; i < Masses; ++i)
        next[i] = speed[i] + steps * row(b.kick, kMasses * s + i) * (drive<Masses>(b, s, i) - friction<Masses>(b, s, i, speed));
    Vec rotor{};
    for (int i = 0; i < Masses; ++i) {
        const int at = kMasses * s + i;
        const Vec angle = row(b.angle, at) + steps * row(b.turns, s) * next[i];
        row(b.speed, at) = next[i];
        row(b.angle, at) = angle;
        rotor += row(b.generator, at) * angle;
    }
    return rotor;
}

// Currents, fluxes and torque of the last solution (equations at the head of the file), the histories without the
// field's part, and the speed.
[[gnu::always_inline]] inline void measure(const SynchronousMachineRows& b, int s, const NodeRows& nodes, int kind) {
    double* const out = b.published + static_cast<long>(kPublished) * s * kLanes;
    const Terminals t(b.at, s);
    const double both = kind == kTrapezoidal ? 2 : 1;  // ends of the step that the rule weighs with k
    const Vec scale = row(b.per_volt, s), k = row(b.k, s), ra = row(b.ra, s), xl = row(b.xl, s);
    const Vec va = t.get(nodes.v, 0) * scale, vb = t.get(nodes.v, 1) * scale, vc = t.get(nodes.v, 2) * scale;
    const Vec v0 = kThird * (va + vb + vc), alpha = va - v0, beta = kRootThird * (vb - vc);
    const Vec cos = row(b.axis, 2 * s), sin = row(b.axis, 2 * s + 1);
    const Vec id = row(b.history, 3 * s) - k * row(b.m, 3 * s) * (alpha * cos + beta * sin);
    const Vec iq = row(b.history, 3 * s + 1) - k * row(b.m, 3 * s + 1) * (beta * cos - alpha * sin);
    const Vec i0 = row(b.history, 3 * s + 2) - row(b.k0, s) * row(b.m, 3 * s + 2) * v0;
    const Vec i_alpha = id * cos - iq * sin, i_beta = id * sin + iq * cos;
    const Vec e_alpha = k * (alpha + ra * i_alpha), e_beta = k * (beta + ra * i_beta), e_0 = row(b.k0, s) * (v0 + row(b.r0, s) * i0);
    const Vec flux_alpha = row(b.flux, 3 * s) + e_alpha, flux_beta = row(b.flux, 3 * s + 1) + e_beta;
    row(b.torque, s) = flux_alpha * i_beta - flux_beta * i_alpha;
    const Vec square = alpha * alpha + beta * beta;
    Vec length;
    for (int l = 0; l < kLanes; ++l) length[l] = __builtin_sqrt(square[l]);
    row(out, 1) = length;
    row(out, 2) = alpha * i_alpha + beta * i_beta + 2.0 * (v0 * i0);
    row(b.flux, 3 * s) += both * e_alpha;
    row(b.flux, 3 * s + 1) += both * e_beta;
    row(b.flux, 3 * s + 2) += both * e_0;
    // Rotor: (L + kR)·i_r = w + L_m·(i + s).
    const Vec stator[2] = {id + row(b.saturation, 4 * s), iq + row(b.saturation, 4 * s + 1)};
    for (int x = 0; x < 2; ++x) {
        const Vec main = row(b.rotor_main, 2 * s + x) * stator[x];
        const Vec w1 = row(b.rotor, 4 * s + 2 * x), w2 = row(b.rotor, 4 * s + 2 * x + 1);
        const Vec b12 = row(b.rotor_b, 6 * s + 3 * x + 1);
        const Vec i1 = row(b.rotor_b, 6 * s + 3 * x) * (w1 + main) + b12 * (w2 + main);
        if (x == 0) row(out, 3) = row(b.field, 2 * s + 1) * i1;
        const Vec i2 = b12 * (w1 + main) + row(b.rotor_b, 6 * s + 3 * x + 2) * (w2 + main);
        row(b.rotor, 4 * s + 2 * x) = w1 - both * (row(b.rotor_kr, 4 * s + 2 * x) * i1);
        row(b.rotor, 4 * s + 2 * x + 1) = w2 - both * (row(b.rotor_kr, 4 * s + 2 * x + 1) * i2);
    }
    if (any(row(b.knee, 4 * s + 1) > 0.0)) {
        const Vec last_d = row(b.saturation, 4 * s + 2), last_q = row(b.saturation, 4 * s + 3);
        saturate(b, s, flux_alpha * cos + flux_beta * sin + xl * id, flux_beta * cos - flux_alpha * sin + xl * iq);
        // Assumption of the next solution: linear extrapolation; in half steps after a discontinuity, the last value.
        const Vec one = Vec{} + 1.0;
        const Vec ahead = kind != kTrapezoidal ? Vec{} : row(b.last_step, s) == 0.5 ? 2.0 * one : one;
        row(b.saturation, 4 * s) = row(b.saturation, 4 * s + 2) + ahead * (row(b.saturation, 4 * s + 2) - last_d);
        row(b.saturation, 4 * s + 1) = row(b.saturation, 4 * s + 3) + ahead * (row(b.saturation, 4 * s + 3) - last_q);
    }
    any(row(b.masses, s) > 1.0) ? arrive<kMasses>(b, s) : arrive<1>(b, s);
    Vec speed{}, angle{};
    for (int i = 0; i < kMasses; ++i) {
        speed += row(b.generator, kMasses * s + i) * row(b.speed, kMasses * s + i);
        angle += row(b.generator, kMasses * s + i) * row(b.angle, kMasses * s + i);
    }
    row(out, 0) = 1.0 + speed;
    row(out, 4) = 90.0 + 360.0 * angle;
}

[[gnu::always_inline]] inline void publish(const SynchronousMachineRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) measure(b, s, nodes, kind);
}

[[gnu::always_inline]] inline void assemble(const SynchronousMachineRows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    const double both = kind == kTrapezoidal ? 2 : 1, steps = kind == kTrapezoidal ? 1 : 0.5;
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals drives(b.reads, s);
        row(b.rotor, 4 * s) += both * (row(b.field, 2 * s) * (row(b.constant, 2 * s) + drives.get(nodes.signals, 0)));
        row(b.power, s) = drives.get(nodes.signals, 1);
        const auto lead = cos_sin(any(row(b.masses, s) > 1.0) ? depart<kMasses>(b, s, steps) : depart<1>(b, s, steps));
        row(b.last_step, s) = Vec{} + steps;
        const Vec cos = lead.cos * clock.cos_new - lead.sin * clock.sin_new, sin = lead.sin * clock.cos_new + lead.cos * clock.sin_new;
        row(b.axis, 2 * s) = cos;
        row(b.axis, 2 * s + 1) = sin;
        // h = m·(c·w - (L* - Ll)·s - Ψ), and the currents it puts into the nodes.
        const Vec alpha = row(b.flux, 3 * s), beta = row(b.flux, 3 * s + 1);
        const Vec known[2] = {alpha * cos + beta * sin, beta * cos - alpha * sin};
        Vec h[2];
        for (int x = 0; x < 2; ++x) {
            const int first = 4 * s + 2 * x;
            const Vec w = row(b.rotor_c, first) * row(b.rotor, first) + row(b.rotor_c, first + 1) * row(b.rotor, first + 1);
            h[x] = row(b.m, 3 * s + x) * (w - row(b.less, 2 * s + x) * row(b.saturation, 4 * s + x) - known[x]);
            row(b.history, 3 * s + x) = h[x];
        }
        const Vec h0 = -(row(b.m, 3 * s + 2) * row(b.flux, 3 * s + 2));
        row(b.history, 3 * s + 2) = h0;
        const Vec ampere = row(b.ampere, s), zero = ampere * h0;
        const Vec i_alpha = ampere * (h[0] * cos - h[1] * sin), i_beta = kHalfRoot3 * (ampere * (h[0] * sin + h[1] * cos));
        const Terminals t(b.at, s);
        t.add(nodes.j, 0, zero + i_alpha);
        t.add(nodes.j, 1, zero + (i_beta - 0.5 * i_alpha));
        t.add(nodes.j, 2, zero - (i_beta + 0.5 * i_alpha));
        // p: the axis that conducts better, as phase quantities of length √Δy.
        const Vec d = kRootTwoThirds * row(b.salient, 2 * s), q = kRootTwoThirds * row(b.salient, 2 * s + 1);
        const Vec x = d * cos - q * sin, y = kHalfRoot3 * (d * sin + q * cos);
        row(b.direction, 3 * s) = x;
        row(b.direction, 3 * s + 1) = y - 0.5 * x;
        row(b.direction, 3 * s + 2) = -(y + 0.5 * x);
    }
}

// Z between node i and terminal c of machine m; between() two terminals.
struct InverseResponse {
    Slots<3> at;
    const double* inverse;
    int n;
    [[gnu::always_inline]] inline Vec operator()(int i, int m, int c) const {
        return Terminals(at, m).get(inverse + static_cast<long>(i) * n * kLanes, c);
    }
    [[gnu::always_inline]] inline Vec between(int m, int t, int s, int c) const {
        const Terminals to(at, m), from(at, s);
        const int *const i = to.index + t * kLanes, *const k = from.index + c * kLanes;
        if (to.uniform && from.uniform) return row(inverse, (static_cast<long>(i[0]) * n + k[0]) / kLanes);
        Vec out;
        for (int l = 0; l < kLanes; ++l) out[l] = inverse[static_cast<long>(i[l] - l) * n + k[l]];
        return out;
    }
};

// Currents Δy·p·(pᵀv) of all machines and the network's response at once (compensation, EMTP Theory Book, ch. 12): with
// v = v₀ - Z·P·y and y = Pᵀv, where the columns of P are the p of each machine,
//     (1 + Pᵀ·Z·P)·y = Pᵀ·v₀.
// The matrix is symmetric with eigenvalues of 1 and more: elimination without pivoting. Only the `lanes` are changed. `inverse`: Z, n × n
// rows. `joint` has room for the equations. Tasks with sparse factors factorise
// G + P·Pᵀ instead.
[[gnu::always_inline]] inline void compensate(const SynchronousMachineRows& b, double* joint, double* v, int n, const Mask& lanes, const double* inverse) {
    const InverseResponse response{b.at, inverse, n};
    const int count = b.at.count;
    double* const matrix = joint;
    double* const y = joint + static_cast<long>(count) * count * kLanes;
    for (int m = 0; m < count; ++m) {
        const Terminals t(b.at, m);
        Vec sum{};
        for (int i = 0; i < 3; ++i) sum += row(b.direction, 3 * m + i) * t.get(v, i);
        row(y, m) = sum;
        for (int s = 0; s < count; ++s) {
            Vec z{};
            for (int i = 0; i < 3; ++i)
                for (int c = 0; c < 3; ++c) z += row(b.direction, 3 * m + i) * response.between(m, i, s, c) * row(b.direction, 3 * s + c);
            row(matrix, m * count + s) = m == s ? 1.0 + z : z;
        }
    }
    for (int m = 0; m < count; ++m)
        for (int s = m + 1; s < count; ++s) {
            const Vec f = row(matrix, s * count + m) / row(matrix, m * count + m);
            for (int c = m + 1; c < count; ++c) row(matrix, s * count + c) -= f * row(matrix, m * count + c);
            row(y, s) -= f * row(y, m);
        }
    for (int m = count - 1; m >= 0; --m) {
        Vec sum = row(y, m);
        for (int c = m + 1; c < count; ++c) sum -= row(matrix, m * count + c) * row(y, c);
        row(y, m) = sum / row(matrix, m * count + m);
    }
    for (int i = 0; i < n; ++i) {
        Vec sum{};
        for (int m = 0; m < count; ++m) {
            Vec z{};
            for (int c = 0; c < 3; ++c) z += response(i, m, c) * row(b.direction, 3 * m + c);
            sum += z * row(y, m);
        }
        const Vec old = row(v, i);
        row(v, i) = lanes ? old - sum : old;
    }
}

}  // namespace EMT_KERNEL
#else

/// The windings of one axis of the rotor: field and damper, one damper, or two.
struct RotorAxis {
    double main = 0;  // L_ad or L_aq, per unit
    int windings = 1;
    std::array<double, 2> r{}, l{};  // of each winding, seen from the stator, per unit

    /// Returns (L + k·R)⁻¹ of the windings: elements 11, 12, 22.
    [[nodiscard]] std::array<double, 3> inverse(double k) const;
    /// Returns the inductance left by the windings and the main flux at the end of a step: L* - Ll.
    [[nodiscard]] double rest(double k) const;
};

/// Saturation of the main flux: a current B·(ψ - A)²/L_ad above A.
struct Saturation {
    double a = 1, b = 0;
    bool both_axes = false;
    double tangent = 0;  // of the part solved with the network, per unit
    [[nodiscard]] double current(double flux, double main) const { return flux > a ? b * (flux - a) * (flux - a) / main : 0; }
};

struct Mass {
    double h;         // inertia constant, s
    double share;     // of the mechanical torque
    double damping;   // torque per speed, per unit
    double spring;    // to the next mass, torque per radian (electrical), per unit
    double between;   // damping between this and the next, torque per speed, per unit
    bool generator;
};

/// Operating point of a machine before t = 0, for the power flow.
struct Dispatch {
    bool holds_angle;      // of its terminal voltage, and delivers the remaining power
    double v;              // terminal voltage, V peak, phase to ground
    double angle_turns;    // of phase a; unless held, a first guess
    bool guess;            // there is a first guess
    double p_w;            // power delivered
    bool unloaded_shaft;   // p_w is the power of the air gap instead: a condenser takes its losses from the network
};

struct SynchronousMachine {
    using Rows = SynchronousMachineRows;
    static constexpr double kStepNs = 130;

    Nodes3 node;
    int number;              // among the machines of the case
    std::string name;
    double v_base, i_base;   // V and A, peak phase values
    double k;                // ω·Δt/2
    double ra, xl;
    RotorAxis d, q;
    bool grounded;           // the neutral
    double r0, x0;
    Saturation saturation;
    std::vector<Mass> shaft;
    Dispatch dispatch;
    std::array<int, 2> reads;
    std::array<int, kPublished> publishes;

    /// Returns an axis for the solution with the network: its main inductance with the tangent of the saturation.
    [[nodiscard]] RotorAxis solved(const RotorAxis& axis) const;
    /// Return the conductance in each axis and of the zero sequence at the end of a step, per unit.
    [[nodiscard]] double y_d() const { return k / (k * ra + xl + solved(d).rest(k)); }
    [[nodiscard]] double y_q() const { return k / (k * ra + xl + solved(q).rest(k)); }
    [[nodiscard]] double y_0() const { return grounded ? k / (k * r0 + x0) : 0; }
    [[nodiscard]] double siemens() const { return i_base / v_base; }

    template <class Matrix>
    void stamp(Matrix& matrix) const {
        const double y0 = y_0() * siemens(), y1 = std::min(y_d(), y_q()) * siemens();
        const double self = (y0 + 2 * y1) / 3, mutual = (y0 - y1) / 3;
        matrix.block(node, 0, 0, [&](std::size_t i, std::size_t c) { return i == c ? self : mutual; });
    }
    /// Stamps the negative and zero sequence; the power flow has the positive sequence.
    void stamp_phasor(PhasorEquations& y) const;
    void start(const LaneStart& lane, const Rows& rows, int slot) const;
    /// Returns the current of a phase out of the machine, A: i = h - y·v in the rotor's coordinates, and zero sequence.
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int phase) const;
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(SynchronousMachine, machines)
