#include "generate/balance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "case/case_file.hpp"
#include "generate/six.hpp"
#include "network/phasor.hpp"

namespace emt {
namespace {
using Json = nlohmann::ordered_json;

constexpr int kPasses = 3;
constexpr double kMost = 0.9, kLeast = 0.05;         // of the rating
constexpr double kDroop = 0.06;                      // voltage per reactive power, per unit
constexpr double kLowest = 0.97, kHighest = 1.06;    // voltage, per unit

/// Generators and condensers, in the order of the network's machines.
std::vector<Json*> machines_of(Json& c) {
    std::vector<Json*> out;
    for (Json& e : c["elements"])
        if (e["type"] == "synchronous_machine" || e["type"] == "synchronous_condenser") out.push_back(&e);
    return out;
}
Json& first_of(Json& c) {
    for (Json* m : machines_of(c))
        if ((*m)["type"] == "synchronous_machine") return *m;
    throw std::logic_error("a case without a generator");
}

/// Adds to what the machines with "p" deliver, in proportion to what they have left.
void share(const std::vector<Json*>& machines, double excess_w) {
    const auto left = [&](const Json& m) {
        const double rated = m["rated_power"], p = m["p"];
        return std::max(excess_w > 0 ? kMost * rated - p : p - kLeast * rated, 0.0);
    };
    double all = 0;
    for (const Json* m : machines) all += m->contains("p") ? left(*m) : 0;
    if (all < std::abs(excess_w)) throw std::runtime_error("the machines cannot serve the load: another seed may do");
    for (Json* m : machines)
        if (m->contains("p")) (*m)["p"] = six((*m)["p"].get<double>() + excess_w * left(*m) / all);
}
}  // namespace

void balance(Json& hq_case, double loading) {
    const std::vector<Json*> machines = machines_of(hq_case);
    const Json* const first = &first_of(hq_case);
    std::vector<double> set_point_v;
    for (const Json* m : machines) set_point_v.push_back((*m)["v"]);
    for (int pass = 0; pass < kPasses; ++pass) {
        const Case c = parse_case(hq_case.dump(), "generated case");
        const std::vector<Complex> x = solve_phasors(c.network);
        double excess_w = 0;
        for (std::size_t k = 0; k < machines.size(); ++k) {
            const SynchronousMachine& m = c.network.machines[k];
            Json& given = *machines[k];
            const double rated = given["rated_power"], rated_v = given["rated_voltage"];
            // Of phase a: everything is balanced.
            const Complex v = x[static_cast<std::size_t>(m.node[0])], s = 1.5 * v * std::conj(x[static_cast<std::size_t>(c.network.nodes()) + k]);
            if (&given == first) excess_w = s.real() - loading * rated;
            if (!m.dispatch.holds_angle) given["angle"] = six(std::arg(v) * 180 / std::numbers::pi);
            given["v"] = six(std::clamp(set_point_v[k] / rated_v - kDroop * s.imag() / rated, kLowest, kHighest) * rated_v);
        }
        share(machines, excess_w);
    }
}

void release(Json& hq_case, double loading) {
    Json& first = first_of(hq_case);
    first["p"] = six(loading * first["rated_power"].get<double>());
}

}  // namespace emt
