// Options and function of each measurement; every rank calls the function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mpi/asking.hpp"

namespace measure::mpi {

struct AnySource {
    int most_sources = 8;
};
void any_source(const Run& run, const AnySource& options);

// Name of each level of thread support -> its constant.
const std::map<std::string, int>& thread_levels();

struct Threads {
    std::string level = "multiple";
    std::vector<int> threads = {1};
};
void threads(const Run& run, const Threads& options);

// Returns the memory of the process, KiB.
double memory_kib();
struct Memory {
    double before_init_kib = 0;
};
void memory(const Run& run, const Memory& options);

struct Matching {
    std::vector<int> depths = {0, 1, 4, 16, 64, 256, 1024};
};
void matching(const Run& run, const Matching& options);

struct SharedWindow {
    std::vector<int> sizes = {8, 1 << 10, 1 << 16, 1 << 20};
    int table_mib = 64;
};
void shared_window(const Run& run, const SharedWindow& options);

}  // namespace measure::mpi
