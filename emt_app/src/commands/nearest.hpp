// Suggestions for a misspelt name.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace emt {

/// Returns at most `most` names that are nearest to `name`, nearest first (Levenshtein 1966).
[[nodiscard]] std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t most);

}  // namespace emt
