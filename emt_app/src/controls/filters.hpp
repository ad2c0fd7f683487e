// Filters of second order in stabilizers, made of integrators.
#pragma once
#include <string>

#include "elements/diagram.hpp"

namespace emt {

/// The polynomial 1 + first·s + second·s².
struct Quadratic {
    double first = 0, second = 0;  // s, s²
};

/// Adds (1 + B1·s + B2·s²)/(1 + A1·s + A2·s²): v' = (u - A1·v - x)/A2, x' = v, y = x + B1·v + B2·v'. B2 needs A2, and B1 needs A1 or A2.
/// Names the blocks of x, v and y: `part`, `part` + "_slope" and `part` + "_out". Returns the signal y.
inline int quadratic_filter(Diagram& d, const std::string& part, int u, const Quadratic& b, const Quadratic& a) {
    if (a.second == 0) return d.add(part, gain(1, u).lead_lag(b.first, a.first));
    const int slope = d.inner(part + "_slope"), filter = d.inner(part);
    d.add(part + "_slope", sum({{1, u}, {-a.first, slope}, {-1, filter}}).integral(1 / a.second));
    d.add(part, gain(1, slope).integral(1));
    if (b.first == 0 && b.second == 0) return filter;
    const double k = b.second / a.second;
    return d.add(part + "_out", sum({{1 - k, filter}, {b.first - k * a.first, slope}, {k, u}}));
}

}  // namespace emt
