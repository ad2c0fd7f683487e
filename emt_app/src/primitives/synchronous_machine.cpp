#include "primitives/primitives.hpp"

#include <cmath>
#include <numbers>

namespace emt {
namespace {

/// exp(j2π/3).
const Complex kTurnPhase{-0.5, 0.86602540378443864676};

/// ψ/v of an inductance for signals zⁿ, per unit: the trapezoidal rule's 1/jω.
Complex trapezoidal_integral(double k, Complex z) { return k * (z + 1.0) / (z - 1.0); }

/// Returns the torque from each mass to the next, per unit.
std::vector<double> passed_on(const std::vector<Mass>& shaft, double torque) {
    std::vector<double> out;
    double sum = 0;
    for (const Mass& m : shaft) out.push_back(sum += m.share * torque - (m.generator ? torque : 0));
    return out;
}

struct SteadyMachine {
    double delta;                  // position of the rotor, turns
    Complex i, psi, v, gap, s;     // d + jq, per unit: current, flux, voltage, flux of the air gap, current of its saturation
    double field;                  // current of the field winding, per unit of L_ad's
};

/// Returns the state of a machine with terminal voltage v and current i of phase a at t = 0, per unit. The d axis
/// carries the flux that the q axis does not. Without a voltage in the q axis, ψ_aq = -L_aq·(i_q + s_q): a phasor along
/// the d axis is ψ + (Ll + L_aq)·i, with the saturated L_aq.
SteadyMachine steady_state(const SynchronousMachine& m, Complex z, Complex v, Complex i) {
    const Complex psi = trapezoidal_integral(m.k, z) * (v + m.ra * i), air = psi + m.xl * i;
    double main_q = m.q.main;
    if (m.saturation.both_axes) {
        const double length = std::sqrt(std::norm(air));
        main_q /= 1 + main_q * m.saturation.current(length, m.d.main) / length;
    }
    SteadyMachine out{};
    out.delta = turns_of(psi + (m.xl + main_q) * i);
    const Complex frame = std::conj(unit_phasor(out.delta));
    out.i = i * frame;
    out.psi = psi * frame;
    out.v = v * frame;
    out.gap = air * frame;
    const Complex saturated = m.saturation.both_axes ? out.gap : Complex(out.gap.real());
    const double length = std::sqrt(std::norm(saturated));
    out.s = m.saturation.current(length, m.d.main) * (saturated / length);
    out.field = out.gap.real() / m.d.main + out.i.real() + out.s.real();
    return out;
}

}  // namespace

std::array<double, 3> RotorAxis::inverse(double k) const {
    const double a = main + l[0] + k * r[0];
    if (windings == 1) return {1 / a, 0, 0};
    const double b = main + l[1] + k * r[1], determinant = a * b - main * main;
    return {b / determinant, -main / determinant, a / determinant};
}

double RotorAxis::rest(double k) const {
    const auto [b11, b12, b22] = inverse(k);
    return main - main * main * (b11 + 2 * b12 + b22);
}

RotorAxis SynchronousMachine::solved(const RotorAxis& axis) const {
    RotorAxis out = axis;
    if (&axis == &d || saturation.both_axes) out.main = 1 / (1 / axis.main + saturation.tangent);
    return out;
}

void SynchronousMachine::stamp_phasor(PhasorEquations& y) const {
    const double x2 = xl + (d.rest(0) + q.rest(0)) / 2;
    const Complex negative = siemens() / (ra + x2 / trapezoidal_integral(k, y.z));
    const Complex zero = grounded ? siemens() / (r0 + x0 / trapezoidal_integral(k, y.z)) : 0.0;
    const std::array<Complex, 3> turn{1.0, kTurnPhase, std::conj(kTurnPhase)};
    y.block(node, 0, 0, [&](std::size_t i, std::size_t c) { return (zero + negative * turn[(i + 3 - c) % 3]) / 3.0; });
}

void SynchronousMachine::start(const LaneStart& lane, const Rows& rows, int slot) const {
    const auto set = [&](const double* of, int per_slot, int i, double value) { lane.at(of, per_slot * slot + i) = value; };
    const double yd = y_d(), yq = y_q(), more = std::sqrt(std::abs(yd - yq) * siemens());
    set(rows.per_volt, 1, 0, 1 / v_base);
    set(rows.ampere, 1, 0, i_base);
    set(rows.k, 1, 0, k);
    set(rows.k0, 1, 0, grounded ? k : 0);
    set(rows.ra, 1, 0, ra);
    set(rows.r0, 1, 0, r0);
    set(rows.xl, 1, 0, xl);
    set(rows.m, 3, 0, yd / k);
    set(rows.m, 3, 1, yq / k);
    set(rows.m, 3, 2, y_0() / k);
    set(rows.knee, 4, 0, saturation.a);
    set(rows.knee, 4, 1, saturation.b / d.main);
    set(rows.knee, 4, 2, saturation.both_axes ? 1 : 0);
    set(rows.knee, 4, 3, saturation.tangent);
    set(rows.salient, 2, 0, yd > yq ? more : 0);
    set(rows.salient, 2, 1, yd > yq ? 0 : more);
    set(rows.turns, 1, 0, lane.frequency_hz * lane.dt_s);
    set(rows.masses, 1, 0, static_cast<double>(shaft.size()));
    set(rows.last_step, 1, 0, 1);
    const RotorAxis axes[2] = {solved(d), solved(q)};
    for (int a = 0; a < 2; ++a) {
        const RotorAxis* const axis = &axes[a];
        const auto b = axis->inverse(k);
        for (int i = 0; i < 3; ++i) set(rows.rotor_b, 6, 3 * a + i, b[static_cast<std::size_t>(i)]);
        set(rows.rotor_main, 2, a, axis->main);
        set(rows.less, 2, a, axis->rest(k));
        for (int w = 0; w < axis->windings; ++w) {
            set(rows.rotor_kr, 4, 2 * a + w, k * axis->r[static_cast<std::size_t>(w)]);
            set(rows.rotor_c, 4, 2 * a + w, axis->main * (b[static_cast<std::size_t>(w)] + b[static_cast<std::size_t>(w) + 1]));
        }
    }
    for (int i = 0; i < static_cast<int>(shaft.size()); ++i) {
        const Mass& mass = shaft[static_cast<std::size_t>(i)];
        set(rows.kick, kMasses, i, lane.dt_s / (4 * mass.h));
        set(rows.share, kMasses, i, mass.share);
        set(rows.generator, kMasses, i, mass.generator ? 1 : 0);
        set(rows.spring, kMasses, i, 2 * std::numbers::pi * mass.spring);
        set(rows.damping, kMasses, i, mass.damping);
        set(rows.between, kMasses, i, mass.between);
    }
    if (!lane.steady()) return;

    const Complex a = kTurnPhase;
    const Complex va = lane.phasor(node[0]), vb = lane.phasor(node[1]), vc = lane.phasor(node[2]);
    const Complex v1 = (va + a * vb + std::conj(a) * vc) / 3.0 / v_base, v0 = (va + vb + vc) / 3.0 / v_base;
    const SteadyMachine at = steady_state(*this, lane.z, v1, lane.current(number) / i_base);
    const double torque = at.psi.real() * at.i.imag() - at.psi.imag() * at.i.real();
    const CosSin<double> axis = cos_sin(at.delta);
    const Complex frame{axis.cos, axis.sin};
    set(rows.axis, 2, 0, axis.cos);
    set(rows.axis, 2, 1, axis.sin);
    set(rows.history, 3, 0, at.i.real() + yd * at.v.real());
    set(rows.history, 3, 1, at.i.imag() + yq * at.v.imag());
    const Complex known = (at.psi - k * (at.v + ra * at.i)) * frame;
    set(rows.flux, 3, 0, known.real());
    set(rows.flux, 3, 1, known.imag());
    if (grounded) {
        const Complex i0 = -v0 / (r0 + x0 / trapezoidal_integral(k, lane.z)), known0 = -x0 * i0 - k * (v0 + r0 * i0);
        set(rows.flux, 3, 2, known0.real());
        set(rows.history, 3, 2, (-y_0() / k * known0).real());
    }
    const double left_d = at.s.real() - saturation.tangent * at.gap.real();
    const double left_q = saturation.both_axes ? at.s.imag() - saturation.tangent * at.gap.imag() : 0;
    for (int i = 0; i < 4; ++i) set(rows.saturation, 4, i, i % 2 == 0 ? left_d : left_q);
    // w = ψ_r + k·R·i_r; only the field carries a current.
    set(rows.rotor, 4, 0, at.gap.real() + (d.l[0] + k * d.r[0]) * at.field);
    if (d.windings > 1) set(rows.rotor, 4, 1, at.gap.real());
    for (int w = 0; w < q.windings; ++w) set(rows.rotor, 4, 2 + w, at.gap.imag());
    const double voltage = d.main * at.field;
    set(rows.field, 2, 0, k * d.r[0] / d.main);
    set(rows.field, 2, 1, d.main);
    if (reads[0] == kNoSignal) set(rows.constant, 2, 0, voltage);
    reads[1] == kNoSignal ? set(rows.constant, 2, 1, torque) : set(rows.power, 1, 0, torque);
    lane.require(reads[0], voltage);
    lane.require(reads[1], torque);
    const std::array<double, kPublished> measured{1, std::sqrt(std::norm(at.v)), (at.v * std::conj(at.i)).real(), voltage, 90 + 360 * at.delta};
    for (std::size_t i = 0; i < measured.size(); ++i) lane.publish(publishes[i], measured[i]);
    set(rows.torque, 1, 0, torque);
    // The torque through each spring twists it.
    const std::vector<double> passed = passed_on(shaft, torque);
    std::vector<double> angle(shaft.size());
    for (std::size_t i = 0; i + 1 < shaft.size(); ++i) angle[i + 1] = angle[i] - passed[i] / (2 * std::numbers::pi * shaft[i].spring);
    double rotor = 0;
    for (std::size_t i = 0; i < shaft.size(); ++i)
        if (shaft[i].generator) rotor = angle[i];
    for (std::size_t i = 0; i < shaft.size(); ++i) set(rows.angle, kMasses, static_cast<int>(i), at.delta + (angle[i] - rotor));
}

double SynchronousMachine::carried(const LaneNow& now, const Rows& rows, int slot, int phase) const {
    const auto v = [&](std::size_t c) { return now.voltage(node[c]) / v_base; };
    const Complex frame{now.at(rows.axis, 2 * slot), now.at(rows.axis, 2 * slot + 1)};
    const Complex u = Complex((2 * v(0) - v(1) - v(2)) / 3, (v(1) - v(2)) / std::numbers::sqrt3) * std::conj(frame);
    const auto h = [&](int i) { return now.at(rows.history, 3 * slot + i); };
    const Complex i = Complex(h(0) - y_d() * u.real(), h(1) - y_q() * u.imag()) * frame;
    const double zero = h(2) - y_0() * (v(0) + v(1) + v(2)) / 3;
    return i_base * (zero + (i * std::conj(unit_phasor(phase / 3.0))).real());
}

}  // namespace emt
