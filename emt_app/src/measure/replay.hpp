// Measurement of the parallel work φ by replay.
//
// After the timed run, the ranks record some steps: the initial state, the waves from other ranks, and the line
// histories of each batch of tasks. Then each rank, while the others sleep, repeats these steps with the record in
// place of the exchange; the sum over ranks is φ. The final state must have the recorded bits. φ never comes from T(n,
// 1), which contains κ′(n, 1) and would give false super-linear speed-ups.
#pragma once
#include <mpi.h>

#include <string>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

struct PartTime {
    std::string part;  // of a step, see solver/step_parts.hpp
    long count;        // elements or other items of the part, on this rank
    double us;         // per step
};

struct Work {
    double phi_us = 0;         // this rank's tasks and lines in turn, per step
    double phi_cached_us = 0;  // the same work batch by batch, each in the fastest cache: without the cost of memory
    double sigma_us = 0;       // work that every rank repeats in every step
    bool exact = false;        // the replay reproduced the recorded bits
    std::vector<PartTime> parts;  // of phi_us if `in_parts`; the same parts in the same order on every rank
};

/// Collective. Advances the simulation by some steps with its events frozen; the engine cannot be stepped afterwards.
[[nodiscard]] Work measure_work(MPI_Comm comm, Engine& engine, bool in_parts = false);

}  // namespace emt
