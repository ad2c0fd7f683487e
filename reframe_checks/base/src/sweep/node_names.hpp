// The names of the nodes that the ranks run on, as Slurm knows them.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "world.hpp"

namespace sweep {

constexpr std::size_t kNameBytes = 256;

inline std::string own_node_name() {
    if (const char* slurm = std::getenv("SLURMD_NODENAME"); slurm != nullptr && *slurm != '\0') {
        return slurm;
    }
    std::array<char, kNameBytes> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) {
        throw std::runtime_error("gethostname failed");
    }
    const std::string name(host.data());
    return name.substr(0, name.find('.'));
}

// The node's name of every rank, in the order of ranks.
inline std::vector<std::string> node_names(const World& world) {
    std::array<char, kNameBytes> own{};
    own_node_name().copy(own.data(), own.size() - 1);
    std::vector<char> all(kNameBytes * static_cast<std::size_t>(world.size()));
    MPI_Allgather(own.data(), kNameBytes, MPI_CHAR, all.data(), kNameBytes, MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> names;
    for (std::size_t start = 0; start < all.size(); start += kNameBytes) {
        names.emplace_back(all.data() + start);
    }
    return names;
}

}  // namespace sweep
