// Cases of MATPOWER, version 2 of the format (R. D. Zimmerman, C. E. Murillo-Sánchez, MATPOWER User's Manual, 2024, appendix B), as
// cases of this program.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace emt {

struct MatpowerOptions {
    double dt_s = 50e-6, frequency_hz = 60;
    bool waves = true;     // lines by travelling waves where these take at least a step; otherwise pi sections
    bool machines = true;  // synchronous machines with typical parameters; otherwise constant EMFs behind impedances
};

struct MatpowerImport {
    nlohmann::ordered_json emt_case;
    std::vector<std::string> notes;  // what has been assumed
};

/// Buses are named B and their number, loads are constant impedances with the case's powers at its voltages. `origin` appears in
/// messages. Throws CaseError with every row that cannot be taken over.
[[nodiscard]] MatpowerImport import_matpower(const std::string& text, const std::string& origin, const MatpowerOptions& options);

}  // namespace emt
