// Coefficients of the companions, from SI values and the step. Formulas: Dommel, "Digital computer solution of
// electromagnetic transients in single- and multiphase networks", IEEE Trans. PAS-88(4), 1969.
#pragma once
#include "network/primitives.hpp"

namespace emt {

/// Series RL, v = R·i + L·di/dt; returns g and the companion. L may be 0 (then there is no history).
[[nodiscard]] std::pair<double, Companion> companion_rl(double r_ohm, double l_henry, double dt_s);
/// Series RC, v = R·i + ∫i/C.
[[nodiscard]] std::pair<double, Companion> companion_rc(double r_ohm, double c_farad, double dt_s);
/// First-order lag T·y' = x - y; y_n = g·x_n + h_n.
[[nodiscard]] std::pair<double, Companion> companion_lag(double time_constant_s, double dt_s);
/// Whether no current makes a symmetric matrix deliver power (R) or hold negative energy (L).
[[nodiscard]] bool passive(const Mat3& symmetric);
/// Three coupled RL branches with full matrices; sets g, a, b, a_be, b_be. False when R + 2L/Δt is singular.
[[nodiscard]] bool companion_coupled(const Mat3& r_ohm, const Mat3& l_henry, double dt_s, Coupled3& out);

}  // namespace emt
