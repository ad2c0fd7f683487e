// A sparse system that is factorised and solved again and again, as an implicit code does in each time step.
#pragma once

#include "common/run.hpp"

namespace measure::sparse_direct {

struct Settings {
    int edge = 24;
    int steps = 3;
};

void measure(const Run& run, const Settings& settings);

}  // namespace measure::sparse_direct
