// Blocks at t = 0.
#pragma once
#include <vector>

#include "solver/block_inverse.hpp"

namespace emt {

/// From rest: outputs of what has a state are their initial values, the others follow in the order of the blocks.
[[nodiscard]] std::vector<Block::Start> start_at_rest(const std::vector<Block>& blocks, const SignalStart& signals);

/// In the steady state, where sources are at rest, lags pass on their input, washouts give nothing and the input of an
/// integrator is zero. Signals that are measured are given, and so are those that a driven element requires and outputs with an
/// initial value; from these the values of all others follow forwards, and backwards through a block whose output and all
/// inputs but one are known. Loops in which neither is possible are solved as equations. References left open take what is
/// asked of them. Throws NoStart.
[[nodiscard]] std::vector<Block::Start> start_steady(const std::vector<Block>& blocks, const SignalStart& signals);

}  // namespace emt
