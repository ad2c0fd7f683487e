// Bandwidth and latency of each NUMA domain's cores on each domain's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "node/cores.hpp"

namespace measure::node {

// Speeds of the cores of `cores_domain` on the memory of `memory_domain`.
struct MemoryPath {
    int cores_domain;
    int memory_domain;
    double triad_mbps;  // all cores of the domain together, 10^6 bytes per second
    double latency_ns;  // a load that depends on the previous load, on one core
    bool correct;
};

// Returns the domains that have memory and some of `cores`, in order.
std::vector<int> domains(const std::vector<Core>& cores);

// Returns the kernel's distance of two domains: 10 to itself, more to others.
int distance(int from, int to);

// Measures every domain's cores on every domain's memory, one pair after the other. `latency_bytes` should exceed the
// caches. Throws std::runtime_error if the kernel does not give memory of a domain.
std::vector<MemoryPath> measure_paths(const std::vector<Core>& cores, std::size_t bytes_per_core, std::size_t latency_bytes, double seconds);

// Returns the order in which a pointer chase visits `lines` cache lines: one cycle, unpredictable for prefetchers.
std::vector<std::size_t> cycle(std::size_t lines);

}  // namespace measure::node
