// The conductance matrix of one task: singularity test, dense inverse, sparse factors.
#pragma once
#include <memory>
#include <stdexcept>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

/// A task with more nodes is solved with sparse factors instead of its dense inverse: the inverse takes 2n² flops and
/// 8n² bytes per step, the factors some tens per node.
inline constexpr int kDenseNodes = 40;

/// A node lost its path to ground, for instance when a switch opened.
struct SingularNode : std::runtime_error {
    explicit SingularNode(int node) : std::runtime_error("singular node"), local_node(node) {}
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

/// Returns the row-major n × n inverse. Throws SingularNode.
[[nodiscard]] std::vector<double> dense_inverse(const Task& task, double dt_s, const Topology& topology);

/// Sparse LDLᵀ of a large task.
class SparseFactors {
public:
    SparseFactors();
    ~SparseFactors();
    SparseFactors(SparseFactors&&) noexcept;
    SparseFactors& operator=(SparseFactors&&) noexcept;
    void factorise(const Task& task, double dt_s, const Topology& topology);
    /// Computes x = Y⁻¹·x in place.
    void solve(std::vector<double>& x) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace emt
