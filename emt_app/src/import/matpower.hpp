// Cases of MATPOWER, version 2 of the format (R. D. Zimmerman, C. E. Murillo-Sánchez, MATPOWER User's Manual, 2024, appendix B).
#pragma once
#include <optional>
#include <string>

#include "import/grid_case.hpp"
#include "import/grid_flow.hpp"

namespace emt {

struct MatpowerOptions : GridCaseOptions {
    Solve solve = Solve::no;
    std::optional<double> tolerance_mva{};  // see settle_grid()
};

/// The grid of a case. Throws CaseError with every row that cannot be taken over, and `origin` in the messages.
[[nodiscard]] Grid read_matpower(const std::string& text, const std::string& origin);

struct MatpowerImport {
    nlohmann::ordered_json emt_case;
    std::vector<std::string> notes;  // what has been assumed
};
/// Both, and the case: buses are named B and their number.
[[nodiscard]] MatpowerImport import_matpower(const std::string& text, const std::string& origin, const MatpowerOptions& options);

}  // namespace emt
