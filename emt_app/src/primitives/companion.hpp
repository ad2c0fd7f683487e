// Trapezoidal Norton companions
//     i_n = g·u_n + h_n,      h_{n+1} = a·u_n + b·h_n,
// with u the voltage across: `a`, `b` for a trapezoidal step (H. W. Dommel, "Digital computer solution of electromagnetic
// transients in single- and multiphase networks", IEEE Trans. PAS-88(4), 1969) and `a_be`, `b_be` for a backward Euler
// step of half the length, which has the same conductance g (J. R. Martí, J. Lin, "Suppression of numerical oscillations
// in the EMTP", IEEE Trans. Power Systems 4(2), 1989).
#pragma once
#include <utility>

#include "primitives/admittances.hpp"

namespace emt {

struct Companion {  // the update of one history current
    double a = 0, b = 0, a_be = 0, b_be = 0;
    /// With u = U·zⁿ and h = H·zⁿ: H = a·U/(z - b), exactly as in the time stepping.
    [[nodiscard]] Complex admittance(double g, Complex z) const { return g + a / (z - b); }
};

/// Series RL, v = R·i + L·di/dt; returns g and the companion. L may be 0 (then there is no history).
[[nodiscard]] std::pair<double, Companion> companion_rl(double r_ohm, double l_henry, double dt_s);
/// Series RC, v = R·i + ∫i/C.
[[nodiscard]] std::pair<double, Companion> companion_rc(double r_ohm, double c_farad, double dt_s);
/// First-order lag T·y' = x - y; y_n = g·x_n + h_n.
[[nodiscard]] std::pair<double, Companion> companion_lag(double time_constant_s, double dt_s);

}  // namespace emt
