// Who meets whom, in rounds of pairs that share no node: every pair of n nodes once; or, where there are too many nodes for that,
// leaf by leaf, then random pairs between leaves.
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

// Circle method (round-robin tournament, Kirkman 1847): n - 1 rounds for even n, n rounds for odd n.
// In each pair first < second. Fewer than two nodes have no round.
std::vector<Round> tournament(int nodes);

// One of its rounds alone; there are tournament_rounds(nodes) of them.
Round tournament_round(int nodes, int number);
int tournament_rounds(int nodes);

// The number of the leaf switch of a node that is on none, as far as is known.
constexpr int kNoLeaf = -1;

// The same for the same arguments, on every rank and machine; a round is computed when it is asked for, in O(nodes).
class SampledSchedule {
  public:
    // `leaf_of`: the leaf switch of each node. The rounds within leaves are those of a tournament in each leaf, all leaves at
    // the same time, and at most a quarter of `rounds`. In the others random pairs of leaves meet, each node of one a random
    // node of the other: of nodes paired at random several would meet on one link between switches, and wait for each other.
    // What then has no partner, because its leaf is larger or the only one left, meets others of its leaf.
    SampledSchedule(const std::vector<int>& leaf_of, int rounds, std::uint64_t seed);

    [[nodiscard]] int rounds() const { return rounds_; }
    // So many of them, the first, are within leaves.
    [[nodiscard]] int rounds_within() const { return within_; }
    // No node twice; in each pair first < second.
    [[nodiscard]] std::vector<Pair> round(int number) const;

  private:
    [[nodiscard]] std::vector<Pair> within_leaves(int number) const;
    [[nodiscard]] std::vector<Pair> between_leaves(int number) const;

    std::vector<std::vector<int>> leaves_;  // the nodes of each; of a node that is on none, that node alone
    int rounds_;
    int within_ = 0;
    std::uint64_t seed_;
};

// The leaf switch of each of `nodes`, numbered, from lines "NODE LEAF"; other nodes may be in the file, too.
// Throws std::runtime_error, naming the line, when one is something else.
std::vector<int> read_leaves(const std::filesystem::path& path, const std::vector<std::string>& nodes);

}  // namespace measure::pairs
