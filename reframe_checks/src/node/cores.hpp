// Speeds of the cores of this node: each alone, all at once, and of some while the others rest.
#pragma once

#include <cstddef>
#include <vector>

#include "node/kernels.hpp"

namespace measure::node {

struct CoreSpeeds {
    double triad_mbps;  // 10^6 bytes a second
    double gflops;
    double steady;  // mean speed over the best, of the kernel in which it is less
    bool correct;
};

// The best of five windows that together take `seconds`, 10^6 bytes a second.
double triad_mbps(Triad& triad, double seconds);

// Measures the cores at the same time, a thread bound to each; the best of five windows that together take `seconds`,
// for each of the two kernels. Throws std::runtime_error when a thread cannot be bound.
std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds);

struct Core {
    int number;  // the kernel's, of its first thread
    int domain;  // NUMA domain
};

struct Fill {
    bool spread;  // evenly over the node, or else packed: one domain after the other
    std::vector<int> active;
    std::vector<CoreSpeeds> speeds;
};

// By domain, then by number: what is evenly spaced in this order is spread over domains, and over the caches in them.
std::vector<Core> in_order(std::vector<Core> cores);

// `active` of the cores, evenly spaced or the first.
std::vector<int> chosen(const std::vector<Core>& cores, std::size_t active, bool spread);

// The cores that this process may use, in order; of domain 0 where the kernel names none.
std::vector<Core> cores_by_domain();

// All, half, a quarter and one, spread; half and a quarter packed, too. Of few cores those numbers that there are.
std::vector<Fill> measure_fills(const std::vector<Core>& cores, std::size_t bytes_per_core, double seconds);

// What processes may still have of the node's memory, MiB (MemAvailable of /proc/meminfo).
long available_mib();

}  // namespace measure::node
