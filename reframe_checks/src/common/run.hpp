// A run of a subcommand on all ranks: start at the same time, an end to every wait, and the document that rank 0 writes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/figures.hpp"
#include "common/world.hpp"

namespace measure {

struct Options {
    std::string subcommand;  // as on the command line, `mpi any-source`
    std::string output = "-";
    double timeout_s = 0;  // of a wait; 0: without an end, as a job's watch sees that nothing goes on
    int repeats = 5;
    int iterations = 5;
    int bytes = 8;
    std::uint64_t seed = 1;
    int ranks_per_node = 0;
};

class Run {
  public:
    Run(const World& world, const Options& options);

    [[nodiscard]] const World& world() const { return world_; }
    [[nodiscard]] int rank() const { return world_.rank(); }
    [[nodiscard]] int size() const { return world_.size(); }
    [[nodiscard]] const Options& options() const { return options_; }
    // Of each rank, by name and by number in the order of their first ranks. The first call is every rank's: it may send.
    [[nodiscard]] const std::vector<std::string>& node_names() const;
    [[nodiscard]] const std::vector<int>& node_of() const;

    // Throw std::runtime_error where there are others.
    void require_ranks(int ranks) const;
    void require_several_ranks() const;

    // From now on this rank waits for `what`: when that takes longer than the timeout the program says so and ends.
    // Main thread only.
    void waits_for(const std::string& what) const;
    void waits_no_more() const;

    // All ranks of `ranks` go on at the same time, as exactly as they can.
    void start_together(MPI_Comm ranks = MPI_COMM_WORLD) const;
    void wait_all(std::vector<MPI_Request>& requests, const std::string& what) const;

    // What each rank gives, a list in the order of ranks, on rank 0.
    [[nodiscard]] json gathered(const json& own) const;
    // The longest of all ranks in `ranks` for each of the times, on its rank 0, in µs with six digits.
    [[nodiscard]] json longest_us(const std::vector<double>& seconds, MPI_Comm ranks = MPI_COMM_WORLD) const;

    // What the run was, then what it measured. Every rank has to call it. `used`: ranks that were measured, the first.
    [[nodiscard]] nlohmann::ordered_json document(const json& measured, int used) const;
    // Rank 0 writes that document: a line for each key, and for each entry of the lists named in `lists`. So do all ranks.
    void write(const json& measured, const std::set<std::string>& lists, int used) const;
    void write(const json& measured, const std::set<std::string>& lists = {}) const { write(measured, lists, size()); }

  private:
    const World& world_;
    Options options_;
    mutable std::vector<std::string> node_names_;
    mutable std::vector<int> node_of_;
};

// Those of the simulator itself cost neither time there, as MPI_Wtime does, nor system calls here.
double now();
void nap(double seconds);
// Between two looks at a word.
void short_nap(double seconds);

// Numbers from 0 to below `count` in an order that follows from the seed.
std::vector<int> shuffled(int count, std::uint64_t seed);

inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace measure
