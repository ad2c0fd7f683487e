// Whether the program is built for SimGrid's SMPI, and the time there: a simulated machine's. Its ranks are in one process and
// share no memory; what they compute takes no time, and so time for it is passed where it would be computed.
#pragma once
#include <mpi.h>

#ifdef SMPI_H  // its mpi.h
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#endif

namespace emt {

#ifdef SMPI_H
inline constexpr bool kSimulated = true;
/// Unlike those of MPI_Wtime, readings of this clock take no simulated time.
[[nodiscard]] inline double clock_s() { return simgrid_get_clock(); }
inline void pass_s(double s) { sg_actor_sleep_for(s); }
#else
inline constexpr bool kSimulated = false;
[[nodiscard]] inline double clock_s() { return MPI_Wtime(); }
inline void pass_s(double) {}
#endif

}  // namespace emt
