// The conductance matrix of one task: singularity test, dense inverse.
#pragma once
#include <stdexcept>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

/// A task with more nodes is solved with sparse factors instead of its dense inverse: the inverse takes 2n² flops and
/// 8n² bytes per step, the factors some tens per node.
inline constexpr int kDenseNodes = 40;

/// A pivot this small against its diagonal entry is zero to rounding.
inline constexpr double kSingular = 1e-13;

/// A node lost its path to ground, for instance when a switch opened.
struct SingularNode : std::runtime_error {
    explicit SingularNode(int node) : std::runtime_error("has a node without a path to ground"), local_node(node) {}
    int local_node;
};

/// Returns the local number of a node without a path to ground, or -1.
[[nodiscard]] int singular_node(const Task& task, double dt_s);

/// State that determines the matrix of a task: switches and the segments of its piecewise elements.
struct Topology {
    std::vector<char> closed;
    std::vector<int> segment;
};
[[nodiscard]] Topology initial_topology(const Task& task);
/// Returns the conductance of each piecewise element on its segment, S.
[[nodiscard]] std::vector<double> slopes(const Task& task, double dt_s, const Topology& topology);

/// Returns the row-major n × n inverse. Throws SingularNode.
[[nodiscard]] std::vector<double> dense_inverse(const Task& task, double dt_s, const Topology& topology);

}  // namespace emt
