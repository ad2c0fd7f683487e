// A case of another program as a grid.
#pragma once
#include <string>

#include "import/grid.hpp"

namespace emt {

/// Reads a case of PSS/E if the file's name ends in .raw, of MATPOWER if in .m; else the first line decides. `format`, "matpower" or
/// "psse", tells it instead if it is not empty. Throws CaseError with every line that cannot be taken over.
[[nodiscard]] Grid read_grid(const std::string& text, const std::string& path, const std::string& format = "");

}  // namespace emt
