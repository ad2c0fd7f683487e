// Which network adapters carry what MPI sends, by the adapters' own counters, and how fast it arrives.
#pragma once

#include <vector>

#include "common/run.hpp"

namespace measure::ring_traffic {

struct Settings {
    int mib = 64;
    std::vector<int> gpus;  // none, or of even and of odd ranks
};

void measure(const Run& run, const Settings& settings);

}  // namespace measure::ring_traffic
