// What all patterns share: clock, start at the same time, content that tells where it comes from, an end to every wait, result.
//
// They are correct on real MPI and on simulated machines (SimGrid SMPI), where computing takes no time, only the simulator's clock
// counts, and all ranks are one process, whose globals each rank has for itself.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "overdue.hpp"
#include "payload.hpp"
#include "world.hpp"

namespace patterns {

using nlohmann::json;

#ifdef SMPI_H
constexpr bool kSimulated = true;
#else
constexpr bool kSimulated = false;
#endif

struct Options {
    std::string output = "-";
    double timeout_s = 60;
    std::uint64_t seed = 1;
    int iterations = 5;
    int ranks_per_node = 0;
};

class Run {
  public:
    Run(const sweep::World& world, const Options& options);

    [[nodiscard]] int rank() const { return world_.rank(); }
    [[nodiscard]] int size() const { return world_.size(); }
    [[nodiscard]] const Options& options() const { return options_; }
    // The number of its node, for each rank.
    [[nodiscard]] const std::vector<int>& node_of() const { return node_of_; }

    // From now on this rank waits for `what`: when that takes longer than the timeout the program says so and ends.
    void waits_for(const std::string& what) const;
    void waits_no_more() const;

    // All ranks of `ranks` go on at the same time, as exactly as they can.
    void start_together(MPI_Comm ranks = MPI_COMM_WORLD) const;
    void wait_all(std::vector<MPI_Request>& requests, const std::string& what) const;

    // The longest of all ranks in `ranks` for each of the times, on its rank 0, in µs with six digits.
    [[nodiscard]] json longest_us(std::vector<double> seconds, MPI_Comm ranks = MPI_COMM_WORLD) const;
    // Rank 0 writes the document of a pattern with its facts.
    void write(const std::string& pattern, json facts, int used_ranks) const;

  private:
    const sweep::World& world_;
    Options options_;
    std::optional<sweep::Overdue> overdue_;
    std::vector<int> node_of_;
};

// Those of the simulator itself cost neither time there, as MPI_Wtime does, nor system calls here.
double now();
void nap(double seconds);
// Between two looks at a word.
void short_nap(double seconds);

using sweep::fill;
using sweep::Label;
using sweep::mixed;
using sweep::require;

// Numbers from 0 to below `count` in an order that follows from the seed.
std::vector<int> shuffled(int count, std::uint64_t seed);

inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace patterns
