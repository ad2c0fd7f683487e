// MPI's world: started and ended once, with a barrier that leaves the processor to others.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "heartbeat.hpp"

namespace sweep {

// What takes moments, and may stand still for so long before somebody should look.
constexpr double kPatience_s = 20;

class World {
  public:
    // `wanted`: the level of thread support to ask for.
    World(int* argc, char*** argv, int wanted = MPI_THREAD_SINGLE) {
        heartbeat::phase(kPatience_s, "MPI_Init");
        MPI_Init_thread(argc, argv, wanted, &provided_);
        heartbeat::phase(kPatience_s, "start");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~World() {
        heartbeat::phase(kPatience_s, "MPI_Finalize");
        MPI_Finalize();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    // The level of thread support that MPI gave.
    [[nodiscard]] int provided() const { return provided_; }

    // MPI_Barrier may spin, and so slow what is being measured on the same processor.
    void barrier() const {
        // Without a limit: what the others do may take its time, and has its own.
        heartbeat::phase(0, "waits for all ranks");
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (;;) {
            int arrived = 0;
            MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
            if (arrived != 0) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    [[nodiscard]] static std::string library() {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(text, &length);
        std::string version(text, static_cast<std::size_t>(length));
        std::replace(version.begin(), version.end(), '\t', ' ');  // MPICH's
        return version.substr(0, version.find_first_of("\r\n,"));
    }

  private:
    int rank_ = 0;
    int size_ = 0;
    int provided_ = MPI_THREAD_SINGLE;
};

}  // namespace sweep
