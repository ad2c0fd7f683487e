// Schedule of pairs in rounds whose pairs share no node: every pair of n nodes once, or, for too many nodes, pairs
// within leaves, then random pairs between leaves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace measure::pairs {

struct Pair {
    int first;
    int second;
};

struct Round {
    std::vector<Pair> pairs;
    std::optional<int> idle;  // the node without a partner when n is odd
};

// Returns all rounds by the circle method (round-robin tournament, Kirkman 1847): n - 1 rounds for even n, n for odd n.
// In each pair first < second. Fewer than two nodes have no round.
std::vector<Round> tournament(int nodes);

// Returns one of its tournament_rounds(nodes) rounds.
Round tournament_round(int nodes, int number);
int tournament_rounds(int nodes);

// The leaf number of a node without a known leaf switch.
constexpr int kNoLeaf = -1;

// Equal arguments give the same schedule on every rank and machine. round() computes a round in O(nodes).
class SampledSchedule {
  public:
    // `leaf_of`: the leaf switch of each node. Rounds within leaves are a tournament in each leaf, all leaves at the
    // same time, and at most a quarter of `rounds`. In the other rounds, random pairs of leaves meet, and each node of
    // one meets a random node of the other: pairs of random nodes would wait for each other on links between switches.
    // A node without a partner, because its leaf is larger or the only one left, meets another node of its leaf.
    SampledSchedule(const std::vector<int>& leaf_of, int rounds, std::uint64_t seed);

    [[nodiscard]] int rounds() const { return rounds_; }
    // Returns the number of rounds within leaves, which come first.
    [[nodiscard]] int rounds_within() const { return within_; }
    // Returns a round: no node occurs twice; in each pair first < second.
    [[nodiscard]] std::vector<Pair> round(int number) const;

  private:
    [[nodiscard]] std::vector<Pair> within_leaves(int number) const;
    [[nodiscard]] std::vector<Pair> between_leaves(int number) const;

    std::vector<std::vector<int>> leaves_;  // the nodes of each leaf; a node without a leaf is its own
    int rounds_;
    int within_ = 0;
    std::uint64_t seed_;
};

// Reads the leaf switch of each of `nodes`, numbered, from lines "NODE LEAF"; the file may have other nodes, too.
// Throws std::runtime_error, naming the line, if a line has another form.
std::vector<int> read_leaves(const std::filesystem::path& path, const std::vector<std::string>& nodes);

}  // namespace measure::pairs
