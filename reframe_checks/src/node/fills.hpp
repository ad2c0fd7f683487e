// What a core has when others of its node rest: all cores, half, a quarter, one.
#pragma once

#include <cstddef>
#include <vector>

#include "node/cores.hpp"

namespace measure::node {

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
