// What the power flow of a generated case looks like.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace emt {

struct FlowReport {
    double lowest_pu = 0, highest_pu = 0;  // voltages of the buses
    double loaded_pu = 0;                  // the machine with the most apparent power, of its rating
    double angle_deg = 0;                  // of the reference bus, phase a

    /// As a network is run: every bus near its rated voltage, every machine within its rating with something left.
    [[nodiscard]] bool plausible() const;
};

/// `rated_kv`: line to line, of each bus to look at. Throws std::runtime_error when there is no power flow.
[[nodiscard]] FlowReport report_flow(const nlohmann::ordered_json& hq_case, const std::map<std::string, double>& rated_kv,
                                     const std::string& reference_bus);

}  // namespace emt
