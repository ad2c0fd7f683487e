// Runs a program's measurement on all ranks: an error on one is said once, with its rank, and ends them all.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "world.hpp"

namespace sweep {

template <typename Measure>
void in_world(const char* program, int* argc, char*** argv, const Measure& measure, int wanted = MPI_THREAD_SINGLE) {
    const World world(argc, argv, wanted);
    try {
        measure(world);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: error on rank %d: %s\n", program, world.rank(), error.what());
#ifdef SMPI_H
        std::_Exit(1);  // all ranks of a simulated machine are one process, and MPI_Abort there ends it with status 0
#else
        MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    }
}

}  // namespace sweep
