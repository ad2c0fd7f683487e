// What all measurements share: repeats and their medians, an end to every wait, a message and its answer, the result.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "overdue.hpp"
#include "payload.hpp"
#include "world.hpp"

namespace mpi_behaviour {

using nlohmann::json;
using sweep::Label;

struct Options {
    std::string output = "-";
    double timeout_s = 60;
    int repeats = 5;
    int iterations = 200;
    int bytes = 8;
};

// Of two ranks: rank 0 asks, the other one answers.
constexpr int kAskTag = 1;
constexpr int kAnswerTag = 2;

class Bench {
  public:
    Bench(const sweep::World& world, const Options& options);

    [[nodiscard]] int rank() const { return world_.rank(); }
    [[nodiscard]] int size() const { return world_.size(); }
    [[nodiscard]] int provided() const { return world_.provided(); }
    [[nodiscard]] const Options& options() const { return options_; }
    [[nodiscard]] const sweep::Overdue& overdue() const { return overdue_; }
    // Throws unless the program runs on `ranks` ranks.
    void require_ranks(int ranks) const;

    // Rank 0 writes the document with its facts.
    void write(const std::string& measured, json facts) const;

  private:
    const sweep::World& world_;
    Options options_;
    sweep::Overdue overdue_;
};

// Seconds until the answer of `partner` is there: its receive, from `source` (the partner or MPI_ANY_SOURCE), is posted
// first, then an empty message asks for it. The answer is compared with its label.
double ask(int partner, int source, std::vector<char>& answer, const Label& label);
// The other side: the answer lies ready before the question comes.
void answer(int partner, std::vector<char>& message, const Label& label);

// Medians of the samples of a repeat, a list for each of several series, in µs with six digits.
class Medians {
  public:
    explicit Medians(std::size_t series) : samples_(series), found_(series, json::array()) {}

    void add(std::size_t series, double seconds) { samples_[series].push_back(seconds); }
    void end_of_repeat();
    [[nodiscard]] const json& operator[](std::size_t series) const { return found_[series]; }

  private:
    std::vector<std::vector<double>> samples_;
    std::vector<json> found_;
};

// Both of two ways, the one first that was last before, so that a slow moment meets both.
template <typename Act>
void in_turns(int iteration, const Act& act) {
    const int first = iteration % 2;
    act(first);
    act(1 - first);
}

inline std::size_t at(int number) { return static_cast<std::size_t>(number); }
inline double now() { return MPI_Wtime(); }

}  // namespace mpi_behaviour
