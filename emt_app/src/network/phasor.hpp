// Sinusoidal steady state of the discrete network.
//
// With every signal X·z^n, z = exp(jωΔt), a companion i = g·u + h, h' = a·u + b·h has the admittance g + a/(z - b),
// exactly as in the time stepping. So a run started from it stays in steady state to rounding. Switches are in their
// initial state, piecewise elements on the segment through the origin.
#pragma once
#include <vector>

#include "network/network.hpp"

namespace emt {

/// Returns z = exp(jωΔt) of the case.
[[nodiscard]] Complex step_operator(const Network& net);
/// Returns peak phasors: each node's voltage, V, then each machine's current, A (power_flow.hpp). Throws
/// std::runtime_error if the admittance matrix is singular or the power flow has no solution.
[[nodiscard]] std::vector<Complex> solve_phasors(const Network& net);

}  // namespace emt
