// Blocks at t = 0.
#pragma once
#include <vector>

#include "solver/block_inverse.hpp"

namespace emt {

/// Starts from rest: blocks with a state output their initial values, the others follow in the order of the blocks.
[[nodiscard]] std::vector<Block::Start> start_at_rest(const std::vector<Block>& blocks, const SignalStart& signals);

/// Starts in the steady state: sources are at rest, lags pass on their input, washouts output 0, integrators have input
/// 0. Given are measured signals, signals that a driven element requires, and outputs with an initial value. All others
/// follow forwards, or backwards through a block whose output and all inputs but one are known. Loops in which neither
/// is possible are solved as equations. Open references take their required value. Throws NoStart.
[[nodiscard]] std::vector<Block::Start> start_steady(const std::vector<Block>& blocks, const SignalStart& signals);

}  // namespace emt
