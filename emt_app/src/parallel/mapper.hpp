// Mapping of tasks to ranks.
//
// The mapper makes two candidates and keeps the one with the lower modelled step time: graph partitioning (METIS, if
// built with it: few cut lines, heavier weight on lines with little slack), and longest processing time first with move
// refinement (best balance). On small ranks, the last refinement counts whole batches: a task that fills an empty lane
// costs little, a task that opens a batch costs much.
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

/// Returns the modelled times of the tasks, µs per step, scaled to the sum `work_us`: the shares of injected work.
[[nodiscard]] std::vector<double> shares_us(const Network& net, const Decomposition& parts, double work_us);
/// `injected_us`: times of the tasks, one after the other, instead of the model's batches.
[[nodiscard]] Mapping map_tasks(const Network& net, const Decomposition& parts, int ranks, const std::vector<double>& injected_us = {});
/// Reads {"rank_of_task": […]}; throws std::runtime_error with file and fault.
[[nodiscard]] Mapping load_mapping(const std::string& path, int tasks, int ranks);

}  // namespace emt
