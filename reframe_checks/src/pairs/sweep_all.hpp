// All pairs of nodes, round by round, and once more alone those that stand out.
#pragma once

#include <vector>

#include "common/world.hpp"
#include "pairs/layout.hpp"
#include "pairs/measure.hpp"
#include "pairs/schedule.hpp"

namespace measure::pairs {

// Row by row, nodes x nodes; NaN where nothing was measured. Whole on rank 0 only.
struct Matrices {
    std::vector<double> latency_us;      // symmetric; the slowest of the node's ranks
    std::vector<double> bandwidth_mbps;  // row sends to column; sum over the node's ranks, MB/s
    std::vector<double> packets_sent;    // by the row while it was measured with the column
    std::vector<double> packets_lost;
    std::vector<double> messages;        // whose content the row compared, of all measurements with the column so far
    std::vector<double> wrong_messages;
};

// Of a pair of nodes; NaN where nothing was measured.
struct PairFigures {
    Pair pair;
    double latency_us;
    double to_second_mbps;
    double to_first_mbps;
    double messages = 0;
    double wrong_messages = 0;
};

// What one rank measured with its partner; NaN where it measured nothing.
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

    // Measures pairs that share no node at the same time; returns the seconds that it took.
    double run(const std::vector<Pair>& pairs);
    // The best that was measured of each pair since the last call; every rank has to call it.
    Matrices collect();
    // Of its partner, the best since it was last taken; that is then forgotten.
    OwnFigures take(int partner);
    // The best of these pairs since they were last taken, on rank 0; every rank has to call it.
    std::vector<PairFigures> take(const std::vector<Pair>& pairs);

  private:
    const World& world_;
    const Layout& layout_;
    double seconds_;  // at most for each measurement of a pair
    PairMeasurement measurement_;
    std::vector<double> latency_us_;
    std::vector<double> bandwidth_mbps_;
    std::vector<double> packets_sent_;  // counted by the first rank of the node
    std::vector<double> packets_lost_;
    std::vector<double> messages_;
    std::vector<double> wrong_messages_;
};

// Every pair of nodes.
std::vector<PairFigures> figures_of_pairs(const Matrices& matrices, int nodes);

// The pairs of which a figure is worse than the median of all by more than the factor 1 / share, worst first, each once,
// at most `most` of them.
std::vector<Pair> outstanding(const std::vector<PairFigures>& figures, double share, std::size_t most);

}  // namespace measure::pairs
