// MPI's world: started and ended once, the nodes and texts of its ranks, and a barrier that leaves the processor to others.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "common/heartbeat.hpp"

namespace measure {

// On a simulated machine (SimGrid SMPI) computing takes no time, only the simulator's clock counts, and all ranks are one
// process, whose globals each rank has for itself.
#ifdef SMPI_H
constexpr bool kSimulated = true;
#else
constexpr bool kSimulated = false;
#endif

// What takes moments, and may stand still for so long before somebody should look.
constexpr double kPatience_s = 20;

class World {
  public:
    // `wanted`: the level of thread support to ask for.
    World(int* argc, char*** argv, int wanted);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    // The level of thread support that MPI gave.
    [[nodiscard]] int provided() const { return provided_; }

    // MPI_Barrier may spin, and so slow what is being measured on the same processor.
    void barrier() const;
    // The texts of all ranks in the order of ranks, on rank 0; nothing on the others.
    [[nodiscard]] std::vector<std::string> gathered(const std::string& own) const;
    // The node's name of every rank, in the order of ranks.
    [[nodiscard]] std::vector<std::string> node_names() const;

    [[nodiscard]] static std::string library();

  private:
    int rank_ = 0;
    int size_ = 0;
    int provided_ = MPI_THREAD_SINGLE;
};

// As Slurm knows it.
std::string own_node_name();

// Throws std::runtime_error with the name of a node that is there twice.
void require_one_rank_per_node(std::vector<std::string> names);

// Measures on all ranks: an error on one is said once, with its rank, and ends them all.
template <typename Measure>
void in_world(const std::string& program, int* argc, char*** argv, int wanted, const Measure& measure) {
    const World world(argc, argv, wanted);
    try {
        measure(world);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: error on rank %d: %s\n", program.c_str(), world.rank(), error.what());
#ifdef SMPI_H
        std::_Exit(1);  // MPI_Abort there ends the process of all ranks with status 0
#else
        MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    }
}

}  // namespace measure
