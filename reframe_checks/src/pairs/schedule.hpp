// Who meets whom: every pair of n nodes once, in rounds of pairs that share no node.
#pragma once

#include <optional>
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

}  // namespace measure::pairs
