// Do collectives bring to every rank what it should get? Their time is measured elsewhere.
#pragma once

#include <string>
#include <vector>

#include "common/world.hpp"

namespace measure::pairs {

struct WrongBlock {
    int sender;  // rank whose block it was, or that which received it where all ranks have made it together
    int receiver;
};

struct CollectiveResult {
    std::string operation;
    std::vector<WrongBlock> wrong;  // whole on rank 0 only
};

// Broadcast from at most eight ranks in turn, all-gather, all-to-all, and all-reduce (sum of integers), each `repeats` times
// with blocks of `bytes`, of which every word is compared. Every rank has to call it. Groups of `group` neighbouring ranks each
// make their own at the same time: of all with all, what each rank sends and stores would grow with the machine.
std::vector<CollectiveResult> check_collectives(const World& world, int bytes, int repeats, int group);

}  // namespace measure::pairs
