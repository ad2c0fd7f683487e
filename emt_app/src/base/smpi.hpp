// Support of builds for SimGrid's SMPI, and the time of the simulated machine. Its ranks are in one process and share
// no memory. Their computation takes no simulated time, so the program passes time in its place.
#pragma once
#include <mpi.h>

#ifdef SMPI_H  // its mpi.h
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#endif

namespace emt {

#ifdef SMPI_H
inline constexpr bool kSimulated = true;
/// Unlike MPI_Wtime, a reading of this clock takes no simulated time.
[[nodiscard]] inline double clock_s() { return simgrid_get_clock(); }
inline void pass_s(double s) { sg_actor_sleep_for(s); }
#else
inline constexpr bool kSimulated = false;
[[nodiscard]] inline double clock_s() { return MPI_Wtime(); }
inline void pass_s(double) {}
#endif

}  // namespace emt
