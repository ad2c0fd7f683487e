// A block backwards: what an input is when the output is known.
#pragma once
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "primitives/block.hpp"

namespace emt {

/// The blocks have no such start: what() names the block and says why.
struct NoStart : std::runtime_error {
    using std::runtime_error::runtime_error;
    NoStart(const Block& block, const std::string& why)
        : NoStart("block '" + block.name + "'" + (block.element == block.name ? "" : " of '" + block.element + "'") +
                  " cannot start in the steady state: " + why) {}
};

[[nodiscard]] std::string number_text(double x);

/// Whether two ways to compute a value differ by rounding only.
[[nodiscard]] inline bool same_value(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)}); }

/// What the signal `unknown` has to be, so that the inputs, of which `u` has the others, combine to x; nothing where that is not
/// decided. Throws NoStart where nothing will do.
[[nodiscard]] std::optional<double> inverted(const Block& block, const std::array<double, kBlockInputs>& u, int unknown, double x);

}  // namespace emt
