// Rules that concern the whole network rather than one element.
#pragma once
#include "base/diagnostics.hpp"
#include "network/network.hpp"

namespace emt {
/// Signals that nobody makes, algebraic loops, singular nodes, islands without a source, sources that a steady start cannot represent,
/// machines whose angles leave open or contradict that of the voltage.
void check_network(const Network& net, Diagnostics& problems);
}  // namespace emt
