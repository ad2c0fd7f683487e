// Speeds of the cores of this node: each alone, and all at once.
#pragma once

#include <cstddef>
#include <vector>

#include "node/kernels.hpp"

namespace measure::node {

struct CoreSpeeds {
    double triad_mbps;  // 10^6 bytes a second
    double gflops;
    bool correct;
};

// The best of five windows that together take `seconds`, 10^6 bytes a second.
double triad_mbps(Triad& triad, double seconds);

// Measures the cores at the same time, a thread bound to each; the best of five windows that together take `seconds`,
// for each of the two kernels. Throws std::runtime_error when a thread cannot be bound.
std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds);

}  // namespace measure::node
