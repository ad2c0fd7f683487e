// Where each rank and each of its threads may run and did run, where its memory is, and how fast it was.
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
