// Repeated factorisation and solution of a sparse system, as in each time step of an implicit code.
#pragma once

#include "common/run.hpp"

namespace measure::sparse_direct {

struct Settings {
    int edge = 24;
    int steps = 3;
};

void measure(const Run& run, const Settings& settings);

}  // namespace measure::sparse_direct
