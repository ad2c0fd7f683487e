#include "pairs/layout.hpp"

#include <stdexcept>
#include <unordered_map>

namespace measure::pairs {

int Layout::partner(int node) const {
    return ranks[static_cast<std::size_t>(node)][static_cast<std::size_t>(own_slot)];
}

Layout lay_out(const std::vector<std::string>& node_of_rank, int own_rank) {
    Layout layout{};
    std::unordered_map<std::string, std::size_t> numbers;
    for (int rank = 0; rank < static_cast<int>(node_of_rank.size()); ++rank) {
        const std::string& name = node_of_rank[static_cast<std::size_t>(rank)];
        const auto [known, is_new] = numbers.emplace(name, layout.nodes.size());
        const std::size_t node = known->second;
        if (is_new) {
            layout.nodes.push_back(name);
            layout.ranks.emplace_back();
        }
        if (rank == own_rank) {
            layout.own_node = static_cast<int>(node);
            layout.own_slot = static_cast<int>(layout.ranks[node].size());
        }
        layout.ranks[node].push_back(rank);
    }
    layout.slots = static_cast<int>(layout.ranks.front().size());
    for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
        if (static_cast<int>(layout.ranks[node].size()) != layout.slots) {
            throw std::runtime_error(layout.nodes[node] + " has " + std::to_string(layout.ranks[node].size()) +
                                     " ranks, but " + layout.nodes.front() + " has " + std::to_string(layout.slots) +
                                     ": give every node the same number");
        }
    }
    return layout;
}

}  // namespace measure::pairs
