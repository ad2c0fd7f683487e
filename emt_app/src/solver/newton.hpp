// Newton's method for a few equations, with differences for the derivatives.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace emt {

using Equations = std::vector<std::vector<double>>;  // coefficients, then the right-hand side

/// Gauss–Jordan with the largest pivots; the last column becomes the solution. Returns false if singular.
inline bool eliminate(Equations& m) {
    for (std::size_t k = 0; k < m.size(); ++k) {
        std::size_t best = k;
        for (std::size_t r = k; r < m.size(); ++r)
            if (std::fabs(m[r][k]) > std::fabs(m[best][k])) best = r;
        if (!(std::fabs(m[best][k]) > 1e-12)) return false;
        std::swap(m[k], m[best]);
        for (std::size_t r = 0; r < m.size(); ++r) {
            if (r == k) continue;
            const double f = m[r][k] / m[k][k];
            for (std::size_t c = k; c <= m.size(); ++c) m[r][c] -= f * m[k][c];
        }
    }
    for (std::size_t k = 0; k < m.size(); ++k) m[k].back() /= m[k][k];
    return true;
}

/// Moves x to a zero of residuals(x), which has the size of x, to rounding. Returns false without convergence.
template <class Residuals>
bool solve_by_newton(std::vector<double>& x, Residuals&& residuals) {
    double last = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 50; ++round) {
        const std::vector<double> f = residuals(x);
        Equations m(x.size(), std::vector<double>(x.size() + 1));
        for (std::size_t c = 0; c < x.size(); ++c) {
            std::vector<double> moved = x;
            const double d = 1e-6 * std::max(1.0, std::fabs(x[c]));
            moved[c] += d;
            const std::vector<double> g = residuals(moved);
            for (std::size_t r = 0; r < x.size(); ++r) m[r][c] = (g[r] - f[r]) / d;
        }
        for (std::size_t r = 0; r < x.size(); ++r) m[r].back() = -f[r];
        if (!eliminate(m)) return false;
        double change = 0;
        for (std::size_t r = 0; r < x.size(); ++r) {
            x[r] += m[r].back();
            change = std::max(change, std::fabs(m[r].back()) / std::max(1.0, std::fabs(x[r])));
        }
        // Differences converge to rounding, wherever that is.
        if (change <= 1e-14 || (change < 1e-9 && change >= last)) return true;
        last = change;
    }
    return false;
}

}  // namespace emt
