#include "generate/stations.hpp"

#include <algorithm>

namespace emt {

std::vector<Station> plan_stations(Random& random) {
    std::vector<Station> stations(kTasks);
    std::vector<int> extra;  // connections besides the first transformer; -1: a single bus
    const auto fill = [&](int count, int value) { extra.insert(extra.end(), at(count), value); };
    // First halves of the islands and the hubs must have a transformer; they are among the stations with two buses.
    fill(42, -1);
    fill(88 - kIslands - kHubs, 0);
    fill(28, 1);
    fill(8, 2);
    fill(4, 3);
    fill(2, 4);
    random.shuffle(extra);
    std::vector<Low> roles;
    const auto role = [&](int count, Low r) { roles.insert(roles.end(), at(count), r); };
    role(kMachines - kIslands, Low::machine);
    role(kCondensers, Low::condenser);
    role(kSvcs, Low::svc);
    role(131 - kHubs - kMachines - kCondensers - kSvcs, Low::load);
    random.shuffle(roles);
    // The islands' second halves may only feed loads: move any other role to a later place in the list.
    std::vector<char> kinds;
    kinds.insert(kinds.end(), 35, 'b');
    kinds.insert(kinds.end(), 28, 's');
    random.shuffle(kinds);
    bool second_transformer = true;
    std::size_t next = 0;
    const auto take_role = [&](int task) {
        if (island(task)) {
            const auto it = std::find(roles.begin(), roles.end(), Low::load);
            roles.erase(it);
            return Low::load;
        }
        const Low r = roles.back();
        roles.pop_back();
        return r;
    };
    for (int t = kTasks - 1; t >= 0; --t) {  // islands first: they need loads
        Station& s = stations[at(t)];
        s.kv = island(t) ? 120 : backbone(t) ? 735 : 315;
        const bool source_half = island(t) && (t - kMain) % 2 == 0;
        int n = 0;
        if (source_half) s.low.push_back(Low::machine);
        else if (hub(t)) s.low.push_back(Low::hub);
        else {
            n = extra[next++];
            if (n >= 0) s.low.push_back(take_role(t));
        }
        for (int k = 0; k < n; ++k) {
            if (second_transformer && !island(t)) {
                s.low.push_back(take_role(t));
                second_transformer = false;
            } else {
                (kinds.back() == 'b' ? s.extra_breakers : s.extra_capacitors) += 1;
                kinds.pop_back();
            }
        }
    }
    return stations;
}

}  // namespace emt
