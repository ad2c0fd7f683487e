#include "generate/dispatch.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace emt {
namespace {

using Roads = std::vector<std::vector<std::pair<std::size_t, double>>>;  // of each station: neighbour, km

/// Returns the distance of every station from one station (E. W. Dijkstra, "A note on two problems in connexion with
/// graphs", Numerische Mathematik 1, 1959).
std::vector<double> distances(const Roads& roads, std::size_t from) {
    std::vector<double> km(roads.size(), std::numeric_limits<double>::infinity());
    std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, std::greater<>> next;
    next.emplace(0, from);
    km[from] = 0;
    while (!next.empty()) {
        const auto [far, at] = next.top();
        next.pop();
        if (far > km[at]) continue;
        for (const auto& [to, length] : roads[at]) {
            if (far + length >= km[to]) continue;
            km[to] = far + length;
            next.emplace(km[to], to);
        }
    }
    return km;
}

}  // namespace

std::vector<double> dispatch(const std::vector<Supply>& supplies, std::vector<double> load_mw, const std::vector<Corridor>& corridors) {
    Roads roads(load_mw.size());
    for (const Corridor& c : corridors) {
        roads[c.from].emplace_back(c.to, c.km);
        roads[c.to].emplace_back(c.from, c.km);
    }
    std::vector<std::tuple<bool, double, std::size_t, std::size_t>> pairs;  // true except for the first supply; km, supply, station
    for (std::size_t s = 0; s < supplies.size(); ++s) {
        const std::vector<double> km = distances(roads, supplies[s].station);
        for (std::size_t at = 0; at < km.size(); ++at)
            if (km[at] < std::numeric_limits<double>::infinity()) pairs.emplace_back(s > 0, km[at], s, at);
    }
    std::sort(pairs.begin(), pairs.end());
    std::vector<double> out(supplies.size());
    for (const auto& [later, km, s, at] : pairs) {
        const double taken = std::min(load_mw[at], supplies[s].most_mw - out[s]);
        load_mw[at] -= taken;
        out[s] += taken;
    }
    return out;
}

}  // namespace emt
