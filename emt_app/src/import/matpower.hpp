// Cases of MATPOWER, version 2 of the format (R. D. Zimmerman, C. E. Murillo-Sánchez, MATPOWER User's Manual, 2024, appendix B).
#pragma once
#include <optional>
#include <string>

#include "import/grid.hpp"
#include "import/grid_case.hpp"

namespace emt {

enum class Solve { no, with_limits, without_limits };

struct MatpowerOptions : GridCaseOptions {
    Solve solve = Solve::no;
    std::optional<double> tolerance_mva{};  // see settle_grid()
};

/// The grid of a case. Throws CaseError with every row that cannot be taken over, and `origin` in the messages.
[[nodiscard]] Grid read_matpower(const std::string& text, const std::string& origin);
/// Solves the grid, or refuses one in which more power than the tolerance is missing at a bus: without one, 10⁻⁴ of all loads, and at
/// most 1 MVA. Notes what was missing. Throws CaseError.
void settle_grid(Grid& grid, Solve solve, std::optional<double> tolerance_mva, const std::string& origin);

struct MatpowerImport {
    nlohmann::ordered_json emt_case;
    std::vector<std::string> notes;  // what has been assumed
};
/// Both, and the case: buses are named B and their number.
[[nodiscard]] MatpowerImport import_matpower(const std::string& text, const std::string& origin, const MatpowerOptions& options);

}  // namespace emt
