// Summary of the power flow of a generated case.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace emt {

struct FlowReport {
    double lowest_pu = 0, highest_pu = 0;  // voltages of the buses
    double loaded_pu = 0;                  // highest apparent power of a machine, of its rating
    double angle_deg = 0;                  // of the reference bus, phase a

    /// Returns true for a realistic state: every bus near its rated voltage, every machine below its rating.
    [[nodiscard]] bool plausible() const;
};

/// `rated_kv`: line to line, of each reported bus. Throws std::runtime_error if there is no power flow.
[[nodiscard]] FlowReport report_flow(const nlohmann::ordered_json& hq_case, const std::map<std::string, double>& rated_kv,
                                     const std::string& reference_bus);

}  // namespace emt
