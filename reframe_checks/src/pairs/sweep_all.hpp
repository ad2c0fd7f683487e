// Measures all pairs of nodes, round by round, and re-measures outstanding pairs alone.
#pragma once

#include <vector>

#include "common/world.hpp"
#include "pairs/layout.hpp"
#include "pairs/measure.hpp"
#include "pairs/schedule.hpp"

namespace measure::pairs {

// Row by row, nodes x nodes; NaN without a measurement. Complete on rank 0 only.
struct Matrices {
    std::vector<double> latency_us;      // symmetric; the slowest of the node's ranks
    std::vector<double> bandwidth_mbps;  // row sends to column; sum over the node's ranks, MB/s
    std::vector<double> packets_sent;    // by the row during its measurement with the column
    std::vector<double> packets_lost;
    std::vector<double> messages;        // compared by the row, in all measurements with the column so far
    std::vector<double> wrong_messages;
};

// Figures of a pair of nodes; NaN without a measurement.
struct PairFigures {
    Pair pair;
    double latency_us;
    double to_second_mbps;
    double to_first_mbps;
    double messages = 0;
    double wrong_messages = 0;
};

// Figures that one rank measured with its partner; NaN without a measurement.
struct OwnFigures {
    double latency_us;
    double bandwidth_mbps;
    double packets_sent;
    double packets_lost;
    double messages;
    double wrong_messages;
};

class Sweep {
  public:
    Sweep(const World& world, const Layout& layout, const Settings& settings);

    // Measures pairs that share no node at the same time; returns the elapsed seconds.
    double run(const std::vector<Pair>& pairs);
    // Returns the best figures of each pair since the last call. Collective.
    Matrices collect();
    // Returns this rank's best figures with `partner` since the last call, and resets them.
    OwnFigures take(int partner);
    // Returns the best figures of these pairs since they were last taken, on rank 0. Collective.
    std::vector<PairFigures> take(const std::vector<Pair>& pairs);

  private:
    const World& world_;
    const Layout& layout_;
    double seconds_;  // limit of each measurement of a pair
    PairMeasurement measurement_;
    std::vector<double> latency_us_;
    std::vector<double> bandwidth_mbps_;
    std::vector<double> packets_sent_;  // counted by the first rank of the node
    std::vector<double> packets_lost_;
    std::vector<double> messages_;
    std::vector<double> wrong_messages_;
};

// Returns the figures of every pair of nodes.
std::vector<PairFigures> figures_of_pairs(const Matrices& matrices, int nodes);

// Returns at most `most` pairs with a figure worse than the median of all by more than the factor 1 / share: each pair
// once, the worst first.
std::vector<Pair> outstanding(const std::vector<PairFigures>& figures, double share, std::size_t most);

}  // namespace measure::pairs
