// Rules that concern the whole network rather than one element.
#pragma once
#include "base/diagnostics.hpp"
#include "network/network.hpp"

namespace emt {
/// Reports signals that no element makes, algebraic loops, singular nodes, islands without a source, sources that a
/// steady start cannot represent, and machines whose angles leave the voltage's angle open or contradict it.
void check_network(const Network& net, Diagnostics& problems);
}  // namespace emt
