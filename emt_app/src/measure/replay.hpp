// Measurement of the parallel work φ by replay.
//
// After the timed run the ranks record some steps: the state they start from and the line histories that each batch of
// tasks receives. Then each rank by itself repeats every batch over the recorded steps, with the recorded histories in
// place of the exchange. The batch stays in the fastest cache meanwhile, so the sum is the work of a machine whose
// memory costs nothing, as the paper's σ + φ is; what memory adds in the real run belongs to κ′. φ never comes from
// T(n, 1), which contains κ′(n, 1) and would give false super-linear speed-ups.
#pragma once
#include <mpi.h>

#include "parallel/engine.hpp"

namespace emt {

struct Work {
    double phi_us = 0;    // of this rank's tasks and lines, per step
    double rank_us = 0;   // the same work with all batches and lines in turn: what memory adds on one rank is in it
    double sigma_us = 0;  // done by every rank in every step, not divided by more ranks
    bool exact = false;   // the replay gave the recorded bits again
};

/// Collective. Advances the simulation by some steps with its events frozen.
[[nodiscard]] Work measure_work(MPI_Comm comm, Engine& engine);

}  // namespace emt
