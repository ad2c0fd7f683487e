// Measurement of the parallel work φ by replay.
//
// After the timed run the ranks record some steps: the state they start from, the waves that they receive from other
// ranks and the line histories of each batch of tasks. Then each rank by itself, while the others sleep, takes these
// steps again with the record in place of the exchange; their sum over ranks is φ. The final state must have the
// recorded bits. φ never comes from T(n, 1), which contains κ′(n, 1) and would give false super-linear speed-ups.
#pragma once
#include <mpi.h>

#include <string>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

struct PartTime {
    std::string part;  // of a step, see solver/step_parts.hpp
    long count;        // elements or what the part consists of, this rank's
    double us;         // per step
};

struct Work {
    double phi_us = 0;         // this rank's tasks and lines in turn, per step
    double phi_cached_us = 0;  // the same work batch by batch, each in the fastest cache: what memory does not cost
    double sigma_us = 0;       // done by every rank in every step, not divided by more ranks
    bool exact = false;        // the replay gave the recorded bits again
    std::vector<PartTime> parts;  // of phi_us when asked for; the same parts in the same order on every rank
};

/// Collective. Advances the simulation by some steps with its events frozen; the engine cannot be stepped afterwards.
[[nodiscard]] Work measure_work(MPI_Comm comm, Engine& engine, bool in_parts = false);

}  // namespace emt
