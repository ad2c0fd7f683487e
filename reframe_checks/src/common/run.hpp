// A run of a subcommand on all ranks: synchronised starts, time limits of waits, and the document that rank 0 writes.
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
    double timeout_s = 0;  // of a wait; 0: no limit, as the job's watch detects a hang
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
    // Node of each rank, by name and by number in the order of the nodes' first ranks. The first call is collective.
    [[nodiscard]] const std::vector<std::string>& node_names() const;
    [[nodiscard]] const std::vector<int>& node_of() const;

    // Throw std::runtime_error if the number of ranks is another.
    void require_ranks(int ranks) const;
    void require_several_ranks() const;

    // Marks the start of a wait for `what`: if it takes longer than the timeout, the program reports that and ends.
    // Main thread only.
    void waits_for(const std::string& what) const;
    void waits_no_more() const;

    // Lets all ranks of `ranks` continue at the same time, as exactly as possible.
    void start_together(MPI_Comm ranks = MPI_COMM_WORLD) const;
    void wait_all(std::vector<MPI_Request>& requests, const std::string& what) const;

    // Returns the values of all ranks, a list in the order of ranks, on rank 0.
    [[nodiscard]] json gathered(const json& own) const;
    // Returns for each time the longest of all ranks in `ranks`, on its rank 0, in µs with six digits.
    [[nodiscard]] json longest_us(const std::vector<double>& seconds, MPI_Comm ranks = MPI_COMM_WORLD) const;

    // Returns the facts of the run, then the results. Collective. The first `used` ranks were measured.
    [[nodiscard]] nlohmann::ordered_json document(const json& measured, int used) const;
    // Writes that document on rank 0: one line per key, and per entry of the lists named in `lists`. Collective.
    void write(const json& measured, const std::set<std::string>& lists, int used) const;
    void write(const json& measured, const std::set<std::string>& lists = {}) const { write(measured, lists, size()); }

  private:
    const World& world_;
    Options options_;
    mutable std::vector<std::string> node_names_;
    mutable std::vector<int> node_of_;
};

// In a simulation, these call the simulator: unlike MPI_Wtime, they cost no simulated time, and no system call.
double now();
void nap(double seconds);
// Sleeps between two reads of a polled word.
void short_nap(double seconds);

// Returns the numbers 0 to `count` - 1 in an order that follows from the seed.
std::vector<int> shuffled(int count, std::uint64_t seed);

inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace measure
