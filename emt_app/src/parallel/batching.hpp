// Which tasks of a rank go side by side in a batch, and what that costs.
#pragma once
#include <array>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

class Batching {
public:
    explicit Batching(const Decomposition& parts);

    /// The tasks in groups of at most kLanes, those that look alike together. The order of `tasks` does not matter.
    [[nodiscard]] std::vector<std::vector<int>> groups(std::vector<int> tasks) const;
    /// Modelled time of a step of these tasks on one rank, µs.
    [[nodiscard]] double cost_us(std::vector<int> tasks) const;
    /// The same of one task in a full batch of its like.
    [[nodiscard]] double task_cost_us(int task) const;

private:
    /// What the kernels loop over: how many elements of each kind, and their terminals, kind by kind.
    struct Shape {
        std::size_t blocks;  // first: they cost most where there are any
        int nodes;
        std::vector<std::size_t> count;
        std::vector<std::vector<Nodes6>> elements;
        std::size_t line_ends;
        std::vector<std::vector<int>> reads;  // signals, kind by kind
        std::vector<unsigned> parts;          // of each block
        std::vector<int> inputs;              // its signals, kBlockInputs a block
        std::size_t valves;
        auto operator<=>(const Shape&) const = default;
    };
    static Shape shape_of(const Task& task);
    [[nodiscard]] double batch_us(const std::vector<int>& group) const;

    std::vector<Shape> shape_;
    std::vector<int> place_;  // of each task when all are sorted by shape
};

}  // namespace emt
