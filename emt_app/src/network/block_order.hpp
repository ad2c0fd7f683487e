// The order in which the blocks of a task are computed.
#pragma once
#include <string>
#include <vector>

#include "primitives/block.hpp"

namespace emt {

/// Sorts blocks so that each comes after those whose outputs it reads; ties in their present order. A loop is closed by its
/// first block whose output does not depend on its input at the same instant: those before it read its prediction. Returns the
/// names of the blocks of a loop that has none, the order then being left as it is, or nothing.
std::vector<std::string> order_blocks(std::vector<Block>& blocks);

}  // namespace emt
