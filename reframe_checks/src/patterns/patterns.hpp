// Options and function of each pattern; every rank calls the function.
#pragma once

#include <filesystem>
#include <string>

#include "common/run.hpp"

namespace measure::patterns {

struct RandomRing {
    std::string way = "isend";
    int bytes = 2'000'000;
};
void random_ring(const Run& run, const RandomRing& options);

struct Barrier {
    std::string algorithm = "ring";
};
void barrier(const Run& run, const Barrier& options);

struct Particles {
    std::string barrier = "before";
    bool within_nodes = true;
    int drawn = 1 << 18;
    double drift = 0.025;
    int record_bytes = 1512;
    double pack_gb_s = 0;
};
void particles(const Run& run, const Particles& options);

struct Neighbour {
    std::string message = "pair";
    std::filesystem::path graph;
};
void neighbour(const Run& run, const Neighbour& options);

struct AllReduce {
    std::string where = "host";
    std::filesystem::path tree;
    double level_latency_us = 0;
    int largest_bytes = 1 << 20;
    int segment_bytes = 1 << 15;
};
void allreduce(const Run& run, const AllReduce& options);

}  // namespace measure::patterns
