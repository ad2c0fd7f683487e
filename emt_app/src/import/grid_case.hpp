// A grid as a case of this program.
#pragma once
#include <nlohmann/json.hpp>

#include "import/grid.hpp"

namespace emt {

struct GridCaseOptions {
    double dt_s = 50e-6, frequency_hz = 60;
    bool waves = true;     // travelling waves for lines that take at least a step, otherwise pi sections
    bool machines = true;  // synchronous machines with typical parameters; otherwise constant EMFs behind impedances
};

/// Loads are constant impedances with the grid's powers at its voltages. `notes` receives the assumptions.
[[nodiscard]] nlohmann::ordered_json grid_case(const Grid& grid, const GridCaseOptions& options, std::vector<std::string>& notes);

/// Largest difference of a bus voltage after the start of the case from the grid's voltage, per unit, and the bus.
struct VoltageError {
    double per_unit = 0;
    std::size_t bus = 0;
};
/// Starts the case. Throws the exceptions of parse_case() and solve_phasors().
[[nodiscard]] VoltageError voltage_error(const Grid& grid, const nlohmann::ordered_json& emt_case);

}  // namespace emt
