// Texts of all ranks, each a node of its own.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "world.hpp"

namespace sweep {

// In the order of ranks, on rank 0; nothing on the others.
inline std::vector<std::string> gathered(const std::string& own, const World& world) {
    const int length = static_cast<int>(own.size());
    const auto ranks = static_cast<std::size_t>(world.rank() == 0 ? world.size() : 0);
    std::vector<int> lengths(ranks);
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> starts(ranks);
    int total = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        starts[rank] = total;
        total += lengths[rank];
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        texts.push_back(all.substr(static_cast<std::size_t>(starts[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return texts;
}

inline void require_one_rank_per_node(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
        throw std::runtime_error(*twice + " has several ranks: start one on each node, with all of its cores");
    }
}

}  // namespace sweep
