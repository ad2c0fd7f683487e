// Bandwidth and latency of the cores of each NUMA domain on the memory of each.
#pragma once

#include <cstddef>
#include <vector>

#include "node/cores.hpp"

namespace measure::node {

// Of the cores of `cores_domain` on the memory of `memory_domain`.
struct MemoryPath {
    int cores_domain;
    int memory_domain;
    double triad_mbps;  // of all cores of the domain together, 10^6 bytes a second
    double latency_ns;  // of a load that depends on the one before, on one core
    bool correct;
};

// Domains that have cores here and memory, in order.
std::vector<int> domains(const std::vector<Core>& cores);

// The kernel's distance of two domains: 10 to itself, more to others.
int distance(int from, int to);

// Every domain's cores on every domain's memory, one pair after the other. `latency_bytes` should be more than the caches hold.
// Throws std::runtime_error where the kernel does not give memory of a domain.
std::vector<MemoryPath> measure_paths(const std::vector<Core>& cores, std::size_t bytes_per_core, std::size_t latency_bytes, double seconds);

// The order in which a chase visits `lines` cache lines: one cycle through all of them, which no prefetcher guesses.
std::vector<std::size_t> cycle(std::size_t lines);

}  // namespace measure::node
