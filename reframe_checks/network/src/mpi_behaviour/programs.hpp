// Each measurement: its options, and the ranks' part in it.
#pragma once

#include <map>

#include "bench.hpp"

namespace mpi_behaviour {

struct AnySource {
    int most_sources = 8;
};
void any_source(const Bench& bench, const AnySource& options);

// Name of each level of thread support -> its constant.
const std::map<std::string, int>& thread_levels();

struct Threads {
    std::string level = "multiple";
    std::vector<int> threads = {1};
};
void threads(const Bench& bench, const Threads& options);

// What the process has in memory, KiB.
double memory_kib();
void memory(const Bench& bench, double before_init_kib);

struct Persistent {
    std::vector<int> sizes = {8, 1 << 16};
};
void persistent(const Bench& bench, const Persistent& options);

struct Overlap {
    std::string operation = "isend";
    std::vector<int> sizes = {1 << 13, 1 << 20};
};
void overlap(const Bench& bench, const Overlap& options);

struct Matching {
    std::vector<int> depths = {0, 1, 4, 16, 64, 256, 1024};
};
void matching(const Bench& bench, const Matching& options);

struct SharedWindow {
    std::vector<int> sizes = {8, 1 << 10, 1 << 16, 1 << 20};
    int table_mib = 64;
};
void shared_window(const Bench& bench, const SharedWindow& options);

}  // namespace mpi_behaviour
