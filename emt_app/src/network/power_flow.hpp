// Power flow: voltages and currents of a network whose machines have a given power and terminal voltage.
#pragma once
#include <vector>

#include "network/network.hpp"

namespace emt {

/// Peak phasors of every node's voltage, V, and after them of each machine's current in phase a, A. `network` are the
/// equations without the machines' currents of positive sequence. Throws std::runtime_error when it does not converge.
[[nodiscard]] std::vector<Complex> solve_power_flow(const Network& net, const PhasorEquations& network);

}  // namespace emt
