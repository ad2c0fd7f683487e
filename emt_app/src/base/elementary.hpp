// Sine, cosine, exponential and integer powers from +, −, × and ÷ alone.
//
// A C library selects functions by processor, with or without fused multiply-adds: kinds of node would differ in the
// last bits. These functions have one order of operations and, compiled without contraction, the same bits on every
// processor and in every instruction set. Errors are below 0.9 units in the last place (tests/elementary_test.cpp).
//
// `Real` is double or a vector of doubles. All is inlined, so that instruction sets never call each other's code.
#pragma once
#include <cmath>
#include <complex>
#include <limits>

namespace emt {

/// Returns x rounded to the nearest whole number, ties to even, for |x| < 2⁵¹: beyond 2⁵² a double has no fraction.
template <class Real>
[[gnu::always_inline]] inline Real whole(const Real& x) {
    constexpr double kShift = 0x1.8p52;
    return (x + kShift) - kShift;
}

template <class Real>
struct CosSin {
    Real cos, sin;
};

/// Returns cosine and sine of 2π·turns, |turns| < 2⁴⁹. Turns, because the subtraction of whole turns is exact.
///
/// turns = q/4 + r with |r| ≤ 1/8; then the Taylor series of cos 2πr and sin 2πr, whose remainders are below 10⁻¹⁷.
template <class Real>
[[gnu::always_inline]] inline CosSin<Real> cos_sin(const Real& turns) {
    const Real quarters = whole(4.0 * turns);
    const Real r = turns - 0.25 * quarters, r2 = r * r;
    // (2π)ᵏ/k! with the signs of the series.
    const Real s = -0x1.4abbce625be53p+5 + r2 * (0x1.466bc6775aae2p+6 + r2 * (-0x1.32d2cce62bd86p+6 + r2 * (0x1.50783487ee782p+5 + r2 *
                   (-0x1.e3074fde8871fp+3 + r2 * (0x1.e8f434d018d63p+1 + r2 * (-0x1.6fadb9f155744p-1 + r2 * 0x1.aaec32af93359p-4))))));
    const Real c = 0x1.03c1f081b5ac4p+6 + r2 * (-0x1.55d3c7e3cbffap+6 + r2 * (0x1.e1f506891babbp+5 + r2 * (-0x1.a6d1f2a204a8cp+4 + r2 *
                   (0x1.f9d38a3763cc3p+2 + r2 * (-0x1.b6e24f44b128fp+0 + r2 * 0x1.20c62c2f2d7f5p-2)))));
    // The first terms, 2π·r and (2π)²/2·r², in two parts each: 2π = 0x1.921fb5p+2 + … and the high half of r have an exact
    // product, and so have this half and itself (T. J. Dekker, "A floating-point technique for extending the available
    // precision", Numerische Mathematik 18, 1971).
    const Real split = 0x1.0000002p27 * r, high = split - (split - r), low = r - high;
    const Real sine = 0x1.921fb5p+2 * high + (0x1.921fb5p+2 * low + (0x1.110b4611a6263p-24 * r + r2 * r * s));
    const Real square = high * high, half = 0x1.3bd3cc9be45dep+4 * square;
    const Real rest = 0x1.3bd3cc9be45dep+4 * (low * (r + high)) + 0x1.692b71366cc04p-50 * square;
    const Real one_less = 1.0 - half;  // rounded; the error is added back
    const Real cosine = one_less + ((((1.0 - one_less) - half) - rest) + r2 * r2 * c);
    const Real turn = quarters - 4.0 * whole(0.25 * quarters);  // −2 … 2
    const auto odd = turn * turn == 1.0;
    const Real x = odd ? sine : cosine, y = odd ? cosine : sine;
    return {((turn == 1.0) | (turn * turn == 4.0)) ? -x : x, ((turn == -1.0) | (turn * turn == 4.0)) ? -y : y};
}

/// Returns eˣ; 0 below the smallest double, infinity above the largest.
///
/// x = k·ln 2 + r with |r| ≤ ln 2 / 2, ln 2 in two parts; then the Taylor series, whose remainder is below 10⁻¹⁷.
inline double exponential(double x) {
    if (!(x < 710)) return x < std::numeric_limits<double>::infinity() ? std::numeric_limits<double>::infinity() : x;
    if (x < -746) return 0;
    const double k = whole(x * 0x1.71547652b82fep+0);
    const double high = x - k * 0x1.62e42fee00000p-1, low = k * 0x1.a39ef35793c76p-33;
    const double r = high - low;
    const double lost = (high - r) - low;
    const double p = 0x1.0p-1 + r * (0x1.5555555555555p-3 + r * (0x1.5555555555555p-5 + r * (0x1.1111111111111p-7 + r * (0x1.6c16c16c16c17p-10 + r *
                     (0x1.a01a01a01a01ap-13 + r * (0x1.a01a01a01a01ap-16 + r * (0x1.71de3a556c734p-19 + r * (0x1.27e4fb7789f5cp-22 + r *
                     (0x1.ae64567f544e4p-26 + r * (0x1.1eed8eff8d898p-29 + r * 0x1.6124613a86d09p-33))))))))));
    return std::ldexp(1 + (r + (lost + r * r * p)), static_cast<int>(k));
}

/// Returns exp(2πj·turns).
inline std::complex<double> unit_phasor(double turns) {
    const CosSin<double> u = cos_sin(turns);
    return {u.cos, u.sin};
}

/// Returns the angle of x in turns, −1/2 … 1/2; 0 for 0.
///
/// From the nearest quarter turn, where the sine of the angle is within 0.08 of the angle, by Newton's method with
/// sin(ε) + sin³(ε)/6 for the remainder ε: each iteration raises the error to the fifth power.
inline double turns_of(std::complex<double> x) {
    constexpr double kTurnsPerRadian = 0.15915494309189533577;
    const double length = std::sqrt(std::norm(x));
    if (length == 0) return 0;
    const double c = x.real() / length, s = x.imag() / length;
    double turns = std::fabs(s) > std::fabs(c) ? (s > 0 ? 0.25 - kTurnsPerRadian * c : -0.25 + kTurnsPerRadian * c)
                   : c > 0                     ? kTurnsPerRadian * s
                                               : (s < 0 ? -0.5 : 0.5) - kTurnsPerRadian * s;
    for (int i = 0; i < 3; ++i) {
        const CosSin<double> at = cos_sin(turns);
        const double left = s * at.cos - c * at.sin;
        turns += kTurnsPerRadian * (left + left * left * left / 6);
    }
    return turns;
}

/// Returns zⁿ by squaring, n ≥ 0.
inline std::complex<double> power(std::complex<double> z, int n) {
    std::complex<double> out = 1;
    for (; n > 0; n >>= 1, z *= z)
        if ((n & 1) != 0) out *= z;
    return out;
}

}  // namespace emt
