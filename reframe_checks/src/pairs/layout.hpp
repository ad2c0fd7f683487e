// The ranks of each node.
#pragma once

#include <string>
#include <vector>

namespace measure::pairs {

struct Layout {
    std::vector<std::string> nodes;       // in the order of their first rank
    std::vector<std::vector<int>> ranks;  // of each node
    int own_node;
    int own_slot;  // place of this rank among its node's ranks
    int slots;     // ranks on each node

    // Returns this rank's partner on another node.
    [[nodiscard]] int partner(int node) const;
};

// Throws std::runtime_error, naming the node, if nodes have different numbers of ranks.
Layout lay_out(const std::vector<std::string>& node_of_rank, int own_rank);

}  // namespace measure::pairs
