// Power flow: voltages and currents of a network whose machines have a given power and terminal voltage.
#pragma once
#include <vector>

#include "network/network.hpp"

namespace emt {

/// Returns peak phasors: every node's voltage, V, then each machine's current in phase a, A. `network`: the equations
/// without the machines' currents of positive sequence. Throws std::runtime_error if it does not converge.
[[nodiscard]] std::vector<Complex> solve_power_flow(const Network& net, const PhasorEquations& network);

}  // namespace emt
