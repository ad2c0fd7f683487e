// What a misspelt name may mean.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace emt {

/// The names that are nearest to `name`, nearest first, at most `most` (Levenshtein 1966).
[[nodiscard]] std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t most);

}  // namespace emt
