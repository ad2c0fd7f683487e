// Speeds of this node's cores: each alone, all at once, and some while the others are idle.
#pragma once

#include <cstddef>
#include <vector>

#include "node/kernels.hpp"

namespace measure::node {

struct CoreSpeeds {
    double triad_mbps;  // 10^6 bytes a second
    double gflops;
    double steady;  // mean speed over best speed, the lower of both kernels
    bool correct;
};

// Returns the best of five windows that together take `seconds`, 10^6 bytes per second.
double triad_mbps(Triad& triad, double seconds);

// Measures the cores at the same time, with a thread bound to each. Returns the best of five windows that together take
// `seconds`, for each of the two kernels. Throws std::runtime_error if a thread cannot be bound.
std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds);

struct Core {
    int number;  // the kernel's number of its first thread
    int domain;  // NUMA domain
};

struct Fill {
    bool spread;  // spread evenly over the node; else packed, one domain after the other
    std::vector<int> active;
    std::vector<CoreSpeeds> speeds;
};

// Sorts by domain, then by number: evenly spaced cores in this order are spread over domains and their caches.
std::vector<Core> in_order(std::vector<Core> cores);

// Returns `active` of the cores: evenly spaced (`spread`), or the first.
std::vector<int> chosen(const std::vector<Core>& cores, std::size_t active, bool spread);

// Returns the cores that this process may use, in order; in domain 0 if the kernel reports none.
std::vector<Core> cores_by_domain();

// Measures all, half, a quarter and one of the cores, spread; half and a quarter also packed. Few cores: fewer fills.
std::vector<Fill> measure_fills(const std::vector<Core>& cores, std::size_t bytes_per_core, double seconds);

// Returns the available memory of the node, MiB (MemAvailable of /proc/meminfo).
long available_mib();

}  // namespace measure::node
