// Memory shared by the ranks of a node (MPI_Win_allocate_shared), and common functions of both measurements of it.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "common/run.hpp"

namespace measure::mpi {

// A window of all ranks; each rank has a part of it.
class SharedMemory {
  public:
    explicit SharedMemory(std::size_t own_bytes) {
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(own_bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own_, &window_);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    }
    ~SharedMemory() {
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] char* of(int rank) const {
        MPI_Aint bytes = 0;
        int unit = 0;
        char* begin = nullptr;
        MPI_Win_shared_query(window_, rank, &bytes, &unit, &begin);
        return begin;
    }
    void sync() const { MPI_Win_sync(window_); }

  private:
    char* own_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

inline double of_slowest(double seconds) {
    double slowest = 0;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

// Measures memory and time of a pass for one shared table of `mib` MiB, and for one table per rank.
json splines(const Run& run, int mib);

}  // namespace measure::mpi
