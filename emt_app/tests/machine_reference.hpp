// An independent machine: flux linkages as states, speed voltages in the rotor's coordinates (P. C. Krause, Analysis of Electric
// Machinery, ch. 5), integrated by the classical Runge–Kutta method with a fine step. Behind a shunt resistance at its
// terminals is a source behind R–L. Per unit, time in s, balanced.
#pragma once
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace emt::test {

struct ReferenceMachine {
    double omega;                  // rad/s
    double ra, xl, xad, xaq;
    std::array<double, 2> rd, ld;  // field, damper
    std::array<double, 2> rq, lq;
    int q_windings;
    double knee, factor;           // L_ad·s = factor·(ψ - knee)²
    bool both_axes;
    double h;
    double shunt;                  // resistance at the terminals
    double r, x;                   // to the source
    std::complex<double> emf;      // at t = 0
    double torque, field;          // mechanical torque, voltage of the field as a current of the field at rest

    using Complex = std::complex<double>;
    /// ψ_d, ψ_q, ψ_f, ψ_D, ψ_Q1, ψ_Q2, angle of the d axis against the synchronous frame (rad), speed deviation, and the current
    /// from the source in the synchronous frame.
    using State = std::array<double, 10>;

    struct Currents {
        double d, q, f, damper, q1, q2, gap_d, gap_q;
    };
    [[nodiscard]] double saturation(double flux) const { return flux > knee ? factor * (flux - knee) * (flux - knee) / xad : 0; }

    [[nodiscard]] Currents currents(const State& s) const {
        const double td = s[0] / xl + s[2] / ld[0] + s[3] / ld[1], yd = 1 / xad + 1 / xl + 1 / ld[0] + 1 / ld[1];
        const double second = q_windings > 1 ? 1 / lq[1] : 0;
        const double tq = s[1] / xl + s[4] / lq[0] + s[5] * second, yq = 1 / xaq + 1 / xl + 1 / lq[0] + second;
        double d = td / yd, q = tq / yq;
        for (int i = 0; i < 60; ++i) {  // the flux of the air gap, with its saturation
            const double length = both_axes ? std::hypot(d, q) : std::abs(d), k = length > 0 ? saturation(length) / length : 0;
            d = (td - k * d) / yd;
            q = both_axes ? (tq - k * q) / yq : q;
        }
        return {(d - s[0]) / xl, (q - s[1]) / xl, (s[2] - d) / ld[0], (s[3] - d) / ld[1], (s[4] - q) / lq[0], (s[5] - q) * second, d, q};
    }

    /// Steady state with terminal voltage v; sets the source, the field and the torque so that it is one.
    State steady(Complex v, Complex current) {
        const Complex flux = (v + ra * current) / Complex(0, 1), gap = flux + xl * current;
        const double length = std::abs(gap);
        double saturated = xaq;
        if (both_axes) saturated /= 1 + xaq * saturation(length) / length;
        const double angle = std::arg(flux + (xl + saturated) * current);
        const Complex frame = std::polar(1.0, -angle), i = current * frame, psi = flux * frame, air = gap * frame;
        const double along = both_axes ? length : std::abs(air.real()), k = saturation(along) / along;
        const double field_current = air.real() / xad + i.real() + k * air.real();
        field = field_current;
        torque = psi.real() * i.imag() - psi.imag() * i.real();
        const Complex from_source = v / shunt - current;
        emf = v + Complex(r, x) * from_source;
        return {psi.real(), psi.imag(), air.real() + ld[0] * field_current, air.real(), air.imag(), air.imag(), angle, 0, from_source.real(), from_source.imag()};
    }

    [[nodiscard]] Complex machine_current(const State& s) const {
        const Currents i = currents(s);
        return Complex(i.d, i.q) * std::polar(1.0, s[6]);  // synchronous frame
    }

    [[nodiscard]] State slope(const State& s) const {
        const Currents i = currents(s);
        const Complex turn = std::polar(1.0, s[6]), line(s[8], s[9]);
        const Complex v = shunt * (Complex(i.d, i.q) * turn + line), vdq = v * std::conj(turn);
        const double speed = 1 + s[7];
        const Complex di = (emf - v - r * line) / x - Complex(0, 1) * line;  // L·di/dt in the turning frame
        return {omega * (vdq.real() + ra * i.d + speed * s[1]),
                omega * (vdq.imag() + ra * i.q - speed * s[0]),
                omega * rd[0] * (field - i.f),
                -omega * rd[1] * i.damper,
                -omega * rq[0] * i.q1,
                q_windings > 1 ? -omega * rq[1] * i.q2 : 0,
                omega * s[7],
                (torque - (s[0] * i.q - s[1] * i.d)) / (2 * h),
                omega * di.real(),
                omega * di.imag()};
    }

    void advance(State& s, double dt) const {
        const auto plus = [](const State& a, const State& b, double k) {
            State out{};
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + k * b[i];
            return out;
        };
        const State k1 = slope(s), k2 = slope(plus(s, k1, dt / 2)), k3 = slope(plus(s, k2, dt / 2)), k4 = slope(plus(s, k3, dt));
        for (std::size_t i = 0; i < s.size(); ++i) s[i] += dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
};

}  // namespace emt::test
