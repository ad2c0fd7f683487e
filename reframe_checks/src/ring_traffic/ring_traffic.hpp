// Network adapters that carry MPI's messages, by the adapters' own counters, and the rate of arrival.
#pragma once

#include <vector>

#include "common/run.hpp"

namespace measure::ring_traffic {

struct Settings {
    int mib = 64;
    std::vector<int> gpus;  // empty, or the GPUs of even and of odd ranks
};

void measure(const Run& run, const Settings& settings);

}  // namespace measure::ring_traffic
