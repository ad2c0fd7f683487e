// Division of a rank's tasks into batches, and its cost.
#pragma once
#include <array>
#include <vector>

#include "network/tasks.hpp"
#include "solver/sparse_factors.hpp"

namespace emt {

class Batching {
public:
    Batching(const Network& net, const Decomposition& parts);

    /// Returns the tasks in groups of at most kLanes similar tasks. The order of `tasks` does not matter.
    [[nodiscard]] std::vector<std::vector<int>> groups(std::vector<int> tasks) const;
    /// Returns the modelled time of a step of these tasks on one rank, µs.
    [[nodiscard]] double cost_us(std::vector<int> tasks) const;
    /// Returns the same for one task in a full batch of similar tasks.
    [[nodiscard]] double task_cost_us(int task) const;

private:
    /// Loop counts of the kernels: number of elements of each kind, and their terminals, kind by kind.
    struct Shape {
        std::size_t blocks;  // first, since they cost most
        int nodes;
        std::vector<std::size_t> count;
        std::vector<std::vector<Nodes6>> elements;
        std::size_t line_ends;
        std::vector<std::vector<int>> reads;  // signals, kind by kind
        std::vector<unsigned> parts;          // of each block
        std::vector<int> inputs;              // its signals, kBlockInputs a block
        std::size_t valves;
        SparseFactors::Work factors;  // zero with an inverse
        auto operator<=>(const Shape&) const = default;
    };
    static Shape shape_of(const Task& task, double dt_s);
    [[nodiscard]] double batch_us(const std::vector<int>& group) const;

    std::vector<Shape> shape_;
    std::vector<int> place_;  // of each task in the order by shape
};

}  // namespace emt
