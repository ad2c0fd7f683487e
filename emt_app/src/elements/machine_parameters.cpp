#include "elements/machine_parameters.hpp"

#include <cmath>

namespace emt {
namespace {

bool sound_circuit(const RotorAxis& c) {
    for (int i = 0; i < c.windings; ++i)
        if (!(c.r[static_cast<std::size_t>(i)] > 0) || !(c.main + c.l[static_cast<std::size_t>(i)] > 0)) return false;
    return c.windings == 1 || (c.main + c.l[0]) * (c.main + c.l[1]) > c.main * c.main;
}

/// Returns the larger root of a·x² - b·x + c = 0.
std::optional<double> larger_root(double a, double b, double c) {
    const double discriminant = b * b - 4 * a * c;
    if (!(discriminant >= 0)) return {};
    return (b + std::sqrt(discriminant)) / (2 * a);
}

/// The parameters belong to
///   X/X(s) = 1 + (X/X' - 1)·sT'/(1 + sT') + (X/X'' - X/X')·sT''/(1 + sT'') = (1 + sT0')(1 + sT0'')/((1 + sT')(1 + sT'')),
/// whose coefficients of s and s² give T' and T''. The circuit follows from
///   1/(X(s) - Xl) = 1/Xm + s/(Rf + sLf) + s/(RD + sLD)
/// by partial fractions; the zeros of X(s) - Xl give the time constants Lf/Rf and LD/RD.
std::optional<RotorAxis> exact_circuit(const AxisParameters& p, double xl, double omega) {
    const double t1 = omega * p.t1, t2 = omega * p.t2, sum = t1 + t2, product = t1 * t2;
    const double short_product = product * p.x2 / p.x, a = p.x / p.x1, b = 1 + p.x / p.x2 - a;
    const auto s1 = larger_root(a, sum, b * short_product);
    if (!s1) return {};
    const double s2 = short_product / *s1, main = p.x - xl;
    const double first = (p.x * (*s1 + s2) - xl * sum) / main, second = (p.x * short_product - xl * product) / main;
    const auto tf = larger_root(1, first, second);
    if (!tf || !(second > 0)) return {};
    const double td = second / *tf, n1 = sum - first, n2 = product - second;
    RotorAxis out{main, 2, {}, {}};
    out.r = {main * (1 - td / *tf) / (n1 - n2 / *tf), main * (1 - *tf / td) / (n1 - n2 / td)};
    out.l = {out.r[0] * *tf, out.r[1] * td};
    return out;
}

RotorAxis classical_circuit(const AxisParameters& p, double xl, double omega) {
    const double main = p.x - xl, f = 1 / (1 / (p.x1 - xl) - 1 / main), d = 1 / (1 / (p.x2 - xl) - 1 / (p.x1 - xl));
    return {main, 2, {(main + f) / (omega * p.t1), (d + p.x1 - xl) / (omega * p.t2)}, {f, d}};
}

}  // namespace

std::optional<RotorAxis> rotor_circuit(const AxisParameters& p, double xl, double omega, Conversion conversion) {
    if (!(p.x2 > xl) || !(p.x > p.x2) || (p.transient && !(p.x1 > p.x2 && p.x > p.x1 && p.t1 > p.t2))) return {};
    std::optional<RotorAxis> out;
    if (!p.transient) {
        const double main = p.x - xl, l = 1 / (1 / (p.x2 - xl) - 1 / main);
        out = RotorAxis{main, 1, {(main + l) / (omega * p.t2), 0}, {l, 0}};
    } else {
        out = conversion == Conversion::exact ? exact_circuit(p, xl, omega) : classical_circuit(p, xl, omega);
    }
    return out && sound_circuit(*out) ? out : std::nullopt;
}

std::optional<Saturation> saturation_curve(double s10, double s12) {
    if (s10 == 0 && s12 == 0) return Saturation{};
    if (!(s12 > s10)) return {};
    // (1.2 - A)/(1 - A) = √(1.2·S(1.2)/S(1.0))
    if (s10 == 0) return Saturation{1, 1.2 * s12 / 0.04, false};
    const double ratio = std::sqrt(1.2 * s12 / s10), a = (ratio - 1.2) / (ratio - 1);
    if (!(a > 0)) return {};
    return Saturation{a, s10 / ((1 - a) * (1 - a)), false};
}

}  // namespace emt
