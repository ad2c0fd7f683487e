// All pairs of nodes, round by round, and once more alone those that stand out.
#pragma once

#include <vector>

#include "layout.hpp"
#include "measure.hpp"
#include "schedule.hpp"
#include "world.hpp"

// Row by row, nodes x nodes; NaN where nothing was measured. Whole on rank 0 only.
struct Matrices {
    std::vector<double> latency_us;      // symmetric; the slowest of the node's ranks
    std::vector<double> bandwidth_mbps;  // row sends to column; sum over the node's ranks, MB/s
    std::vector<double> packets_sent;    // by the row while it was measured with the column
    std::vector<double> packets_lost;
    std::vector<double> messages;        // whose content the row compared, of all measurements with the column so far
    std::vector<double> wrong_messages;
};

class Sweep {
  public:
    Sweep(const sweep::World& world, const Layout& layout, const Settings& settings);

    // Measures pairs that share no node at the same time; returns the seconds that it took.
    double run(const std::vector<Pair>& pairs);
    // The best that was measured of each pair since the last call; every rank has to call it.
    Matrices collect();

  private:
    const sweep::World& world_;
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

// The pairs of which a figure is worse than the median of all by more than the factor 1 / share, worst first,
// at most `most` of them.
std::vector<Pair> outstanding(const Matrices& matrices, int nodes, double share, std::size_t most);
