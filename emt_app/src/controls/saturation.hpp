// Saturation of an exciter: V_X = E·S_E(E) from two points of S_E (IEEE 421.5-2005, annex C).
#pragma once
#include <cmath>

#include "elements/diagram.hpp"

namespace emt {

/// Returns the reason why the points describe no curve, or an empty text.
inline std::string saturation_problem(double e1, double s1, double e2, double s2) {
    return (s1 <= 0 && s2 <= 0) || (e1 > e2 && e1 * s1 > e2 * s2) ? "" : "saturation must rise from the second point to the first";
}

/// Adds the saturation; returns the signal V_X, or none without saturation. The standard leaves the shape of the curve
/// to the program: here E·S_E(E) = B·(E - A)² above A, zero below, through both points.
inline int saturation_of(Diagram& d, int e, double e1, double s1, double e2, double s2) {
    if (s1 <= 0 && s2 <= 0) return kNoSignal;
    const double root1 = std::sqrt(e1 * s1), root2 = std::sqrt(e2 * s2);
    const double a = (root2 * e1 - root1 * e2) / (root2 - root1), b = (root1 - root2) / (e1 - e2);
    const int above = d.add("excess", look_up(e, {a - 1, a, a + 1}, {0, 0, 1}));
    return d.add("vx", product(b * b, above, above));
}

}  // namespace emt
