// MPI's world: one start and end, nodes and texts of its ranks, and a barrier that yields the processor.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "common/heartbeat.hpp"

namespace measure {

// On a simulated machine (SimGrid SMPI), computation takes no time and only the simulator's clock counts. All ranks are
// one process; each rank has its own copy of the globals.
#ifdef SMPI_H
constexpr bool kSimulated = true;
#else
constexpr bool kSimulated = false;
#endif

// Heartbeat limit of a phase that normally takes moments.
constexpr double kPatience_s = 20;

class World {
  public:
    // `wanted`: the requested level of thread support.
    World(int* argc, char*** argv, int wanted);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    // Returns the level of thread support that MPI gave.
    [[nodiscard]] int provided() const { return provided_; }

    // Unlike MPI_Barrier, does not spin: that would slow measurements on the same processor.
    void barrier() const;
    // Returns the texts of all ranks in the order of ranks on rank 0, and an empty list on the others.
    [[nodiscard]] std::vector<std::string> gathered(const std::string& own) const;
    // Returns the node's name of every rank, in the order of ranks.
    [[nodiscard]] std::vector<std::string> node_names() const;

    [[nodiscard]] static std::string library();

  private:
    int rank_ = 0;
    int size_ = 0;
    int provided_ = MPI_THREAD_SINGLE;
};

// Returns Slurm's name of this node.
std::string own_node_name();

// Throws std::runtime_error with the name of a node that occurs twice.
void require_one_rank_per_node(std::vector<std::string> names);

// Runs `measure` on all ranks: an error of one rank is reported once, with the rank, and ends all ranks.
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
