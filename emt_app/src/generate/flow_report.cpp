#include "generate/flow_report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "case/case_file.hpp"
#include "network/phasor.hpp"

namespace emt {
namespace {
constexpr double kPlausibleLowest = 0.92, kPlausibleHighest = 1.07, kPlausibleMostLoaded = 0.8;  // per unit
}

bool FlowReport::plausible() const { return lowest_pu >= kPlausibleLowest && highest_pu <= kPlausibleHighest && loaded_pu <= kPlausibleMostLoaded; }

FlowReport report_flow(const nlohmann::ordered_json& hq_case, const std::map<std::string, double>& rated_kv, const std::string& reference_bus) {
    const Case c = parse_case(hq_case.dump(), "generated case");
    const std::vector<Complex> x = solve_phasors(c.network);
    FlowReport out{.lowest_pu = std::numeric_limits<double>::infinity()};
    // Phase a suffices, because the network is balanced.
    const std::string phase = ".a";
    for (std::size_t node = 0; node < c.network.node_names.size(); ++node) {
        const std::string& name = c.network.node_names[node];
        if (!name.ends_with(phase)) continue;
        const std::string bus = name.substr(0, name.size() - phase.size());
        if (bus == reference_bus) out.angle_deg = std::arg(x[node]) * 180 / std::numbers::pi;
        const auto rated = rated_kv.find(bus);
        if (rated == rated_kv.end()) continue;
        const double v = std::abs(x[node]) / (rated->second * 1e3 * std::sqrt(2.0 / 3));
        out.lowest_pu = std::min(out.lowest_pu, v);
        out.highest_pu = std::max(out.highest_pu, v);
    }
    for (const SynchronousMachine& m : c.network.machines) {
        const Complex v = x[static_cast<std::size_t>(m.node[0])], i = x[static_cast<std::size_t>(c.network.nodes() + m.number)];
        out.loaded_pu = std::max(out.loaded_pu, std::abs(v * i) / (m.v_base * m.i_base));
    }
    return out;
}

}  // namespace emt
