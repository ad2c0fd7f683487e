// Checks that collectives deliver the right data to every rank. Other measurements time them.
#pragma once

#include <string>
#include <vector>

#include "common/world.hpp"

namespace measure::pairs {

struct WrongBlock {
    int sender;  // the block's rank; the receiver if all ranks computed the block together
    int receiver;
};

struct CollectiveResult {
    std::string operation;
    std::vector<WrongBlock> wrong;  // whole on rank 0 only
};

// Runs broadcast from at most eight ranks in turn, all-gather, all-to-all, and all-reduce (sum of integers), each
// `repeats` times with blocks of `bytes`, and compares every word. Collective. Groups of `group` neighbouring ranks run
// at the same time: in one group of all ranks, each rank's messages and memory would grow with the machine.
std::vector<CollectiveResult> check_collectives(const World& world, int bytes, int repeats, int group);

}  // namespace measure::pairs
