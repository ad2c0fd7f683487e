// Every core of this node does the same works, for so many seconds each.
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

// Of one work on one core: digest -> rounds that ended with it.
using Digests = std::map<std::uint64_t, int>;

struct Dose {
    std::string isa = "auto";
    std::uint64_t variant = 0;
    std::size_t mib_per_core = 64;
    double seconds = 1;  // of each work
    std::vector<std::string> works{"dense", "map", "memory"};
};

// The works of a dose, as a core has them; what they touch first is its own. Throws std::runtime_error where this processor
// lacks the instruction set.
std::vector<std::unique_ptr<Work>> make_works(const Dose& dose);

// The node's line in the result: for each work, of each core the digests and their rounds.
json as_json(const std::string& node, const std::vector<int>& cores, const std::vector<std::unique_ptr<Work>>& works,
             const std::vector<std::vector<Digests>>& of_core);

json sweep_node(const std::string& node, const Dose& dose);

}  // namespace measure::bits
