// The order of computation of a task's blocks.
#pragma once
#include <string>
#include <vector>

#include "primitives/block.hpp"

namespace emt {

/// Sorts blocks so that each comes after the blocks whose outputs it reads; ties keep their order. A loop is closed by
/// its first block whose output does not depend on its input at the same instant: earlier blocks read its prediction.
/// If a loop has no such block, returns the names of its blocks and leaves the order unchanged; else returns nothing.
std::vector<std::string> order_blocks(std::vector<Block>& blocks);

}  // namespace emt
