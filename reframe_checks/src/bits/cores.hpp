// Runs the same works on every core of this node, each for a number of seconds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bits/work.hpp"

namespace measure::bits {

using nlohmann::json;

// Digests of one work on one core: digest -> number of rounds that ended with it.
using Digests = std::map<std::uint64_t, int>;

struct Dose {
    std::string isa = "auto";
    std::uint64_t variant = 0;
    std::size_t mib_per_core = 64;
    double seconds = 1;  // of each work
    std::vector<std::string> works{"dense", "map", "memory"};
};

// Makes one core's works of a dose; call it on that core, which then owns the memory (first touch). Throws
// std::runtime_error if this processor lacks the instruction set.
std::vector<std::unique_ptr<Work>> make_works(const Dose& dose);

// Returns the node's line in the result: for each work and each core the digests and their numbers of rounds.
json as_json(const std::string& node, const std::vector<int>& cores, const std::vector<std::unique_ptr<Work>>& works,
             const std::vector<std::vector<Digests>>& of_core);

json sweep_node(const std::string& node, const Dose& dose);

}  // namespace measure::bits
