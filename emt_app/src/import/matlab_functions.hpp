// Functions that a case may call: mathematics, and MATPOWER's names of columns.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/matlab_values.hpp"

namespace emt {

/// Returns the results of the function with this name; nothing if there is none. Throws MatlabError for wrong
/// arguments.
[[nodiscard]] std::optional<std::vector<MatlabValue>> matlab_call(const std::string& name, const std::vector<MatlabValue>& arguments);
/// Returns the names that MATPOWER's define_constants defines.
[[nodiscard]] const std::map<std::string, double>& matpower_constants();

}  // namespace emt
