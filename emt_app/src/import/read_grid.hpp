// A case of another program as a grid.
#pragma once
#include <string>

#include "import/grid.hpp"

namespace emt {

/// Reads a PSS/E case if the file's name ends in .raw, a MATPOWER case if in .m; else the first line decides. A
/// non-empty `format`, "matpower" or "psse", overrides this. Throws CaseError with every line that cannot be converted.
[[nodiscard]] Grid read_grid(const std::string& text, const std::string& path, const std::string& format = "");

}  // namespace emt
