// Affinity of each rank and its threads: allowed and used CPUs, place of the memory, and speed.
#pragma once

#include <cstddef>

#include "common/run.hpp"

namespace measure::affinity {

struct Settings {
    std::size_t mib_per_thread = 24;
    double seconds = 0.2;
};

void measure(const Run& run, const Settings& settings);

}  // namespace measure::affinity
