#include "generate/balance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "case/case_file.hpp"
#include "generate/six.hpp"
#include "generate/stations.hpp"
#include "network/phasor.hpp"

namespace emt {
namespace {
using Json = nlohmann::ordered_json;

constexpr double kMost = 0.9, kLeast = 0.05;         // of the rating
constexpr double kDroop = 0.06;                      // voltage per reactive power, per unit
constexpr double kLowest = 0.97, kHighest = 1.06;    // voltage, per unit

/// Returns generators and condensers in the order of the network's machines.
std::vector<Json*> machines_of(Json& c) {
    std::vector<Json*> out;
    for (Json& e : c["elements"])
        if (e["type"] == "synchronous_machine" || e["type"] == "synchronous_condenser") out.push_back(&e);
    return out;
}
constexpr std::size_t kOfCopy = kMachines + kCondensers;

/// Returns the index of the first generator of a copy.
std::size_t first_of(const std::vector<Json*>& machines, std::size_t copy) {
    for (std::size_t k = copy * kOfCopy; k < machines.size(); ++k)
        if ((*machines[k])["type"] == "synchronous_machine") return k;
    throw std::logic_error("a case without a generator");
}
bool holds_angle(const Json& generator) { return !generator.contains("p"); }

/// Distributes an excess over the machines with "p", in proportion to their reserves.
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

/// Return the terminal voltage of machine k, V, and its power, VA, in phase a: the network is balanced.
Complex voltage(const Case& c, const std::vector<Complex>& x, std::size_t k) { return x[static_cast<std::size_t>(c.network.machines[k].node[0])]; }
Complex power(const Case& c, const std::vector<Complex>& x, std::size_t k) {
    return 1.5 * voltage(c, x, k) * std::conj(x[static_cast<std::size_t>(c.network.nodes()) + k]);
}
}  // namespace

void balance(Json& hq_case, double loading, int passes, double relaxation) {
    const std::vector<Json*> machines = machines_of(hq_case);
    std::vector<double> set_point_v;
    for (const Json* m : machines) set_point_v.push_back((*m)["v"]);
    for (int pass = 0; pass < passes; ++pass) {
        const Case c = parse_case(hq_case.dump(), "generated case");
        const std::vector<Complex> x = solve_phasors(c.network);
        for (std::size_t k = 0; k < machines.size(); ++k) {
            Json& given = *machines[k];
            const double rated = given["rated_power"], rated_v = given["rated_voltage"];
            if (!c.network.machines[k].dispatch.holds_angle) given["angle"] = six(std::arg(voltage(c, x, k)) * 180 / std::numbers::pi);
            const double now = given["v"].get<double>() / rated_v, wanted = set_point_v[k] / rated_v - kDroop * power(c, x, k).imag() / rated;
            given["v"] = six(std::clamp(now + relaxation * (wanted - now), kLowest, kHighest) * rated_v);
        }
        for (std::size_t copy = 0, end = 0; copy * kOfCopy < machines.size(); copy = end) {
            const std::size_t first = first_of(machines, copy);
            for (end = copy + 1; end * kOfCopy < machines.size() && !holds_angle(*machines[first_of(machines, end)]);) ++end;
            share({machines.begin() + static_cast<std::ptrdiff_t>(copy * kOfCopy), machines.begin() + static_cast<std::ptrdiff_t>(end * kOfCopy)},
                  power(c, x, first).real() - loading * (*machines[first])["rated_power"].get<double>());
        }
    }
}

void release(Json& hq_case) {
    const std::vector<Json*> machines = machines_of(hq_case);
    const Case c = parse_case(hq_case.dump(), "generated case");
    const std::vector<Complex> x = solve_phasors(c.network);
    for (std::size_t copy = 1; copy * kOfCopy < machines.size(); ++copy) {
        const std::size_t first = first_of(machines, copy);
        (*machines[first])["p"] = six(power(c, x, first).real());
    }
}

void turn(Json& hq_case, double degrees) {
    for (Json* m : machines_of(hq_case)) (*m)["angle"] = six(std::remainder((*m)["angle"].get<double>() + degrees, 360));
}

}  // namespace emt
