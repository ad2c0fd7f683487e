// Cases of PSS/E: power flow files (.raw) of versions 32, 33 and 34.
#pragma once
#include <string>

#include "import/grid.hpp"

namespace emt {

/// Reads the grid of a case. Throws CaseError with every record that cannot be converted; `origin` appears in the
/// messages.
[[nodiscard]] Grid read_psse(const std::string& text, const std::string& origin);

}  // namespace emt
