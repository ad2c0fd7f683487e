// The inverse of a block: an input from the known output.
#pragma once
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "primitives/block.hpp"

namespace emt {

/// The blocks have no such start: what() gives the block and the reason.
struct NoStart : std::runtime_error {
    using std::runtime_error::runtime_error;
    NoStart(const Block& block, const std::string& why)
        : NoStart("block '" + block.name + "'" + (block.element == block.name ? "" : " of '" + block.element + "'") +
                  " cannot start in the steady state: " + why) {}
};

[[nodiscard]] std::string number_text(double x);

/// Returns true if two computations of a value differ by rounding only.
[[nodiscard]] inline bool same_value(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)}); }

/// Returns the value of the signal `unknown` for which the inputs combine to x; `u` has the other inputs. Returns
/// nothing if the value is undetermined. Throws NoStart if no value exists.
[[nodiscard]] std::optional<double> inverted(const Block& block, const std::array<double, kBlockInputs>& u, int unknown, double x);

}  // namespace emt
