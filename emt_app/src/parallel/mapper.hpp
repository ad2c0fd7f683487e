// Which rank solves which task.
//
// Two candidates are made, by graph partitioning (METIS, when built with it: few cut lines, heavier weight on lines with
// little slack) and by longest processing time first with move refinement (best balance). The one with the lower
// modelled step time is kept. On small ranks the last refinement counts whole batches: a task that fills an empty lane
// costs little, one that opens a batch costs much.
#pragma once
#include <string>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

struct Mapping {
    std::vector<int> rank_of_task;
    std::string method;           // "metis", "lpt", "file" or "single"
    double modelled_step_us = 0;
};

[[nodiscard]] Mapping map_tasks(const Network& net, const Decomposition& parts, int ranks);
/// Reads {"rank_of_task": […]}; throws std::runtime_error that names the file and the fault.
[[nodiscard]] Mapping load_mapping(const std::string& path, int tasks, int ranks);

}  // namespace emt
