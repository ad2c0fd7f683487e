// Sparse LDLᵀ of the conductance matrix of a large task.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "network/tasks.hpp"
#include "solver/nodal_matrix.hpp"

namespace emt {

/// The factors, in elimination order. Neighbouring columns with the same rows below them form a group, at most kGroup of them: the
/// nodes of a three-phase bus usually do. A solution walks the groups, so an index serves several columns.
class SparseFactors {
public:
    SparseFactors();
    ~SparseFactors();
    SparseFactors(SparseFactors&&) noexcept;
    SparseFactors& operator=(SparseFactors&&) noexcept;

    /// Throws SingularNode.
    void factorise(const Task& task, double dt_s, const Topology& topology);
    /// Returns the place of a local node in the elimination order.
    [[nodiscard]] int place(int node) const { return place_[static_cast<std::size_t>(node)]; }
    /// Returns all groups, ascending.
    [[nodiscard]] std::span<const int> all() const { return all_; }
    /// Returns the groups between these nodes and the root of the elimination tree, ascending. With a right-hand side at
    /// these nodes only, L⁻¹ of it is zero elsewhere; and these groups suffice to compute the solution at these nodes.
    [[nodiscard]] std::vector<int> path(std::span<const int> nodes) const;
    /// Calls visit(place) for each column of these groups.
    template <class Visit>
    void for_each_place(std::span<const int> groups, Visit&& visit) const {
        for (const int g : groups)
            for (int i = 0; i < group_[static_cast<std::size_t>(g)].width; ++i) visit(static_cast<std::size_t>(group_[static_cast<std::size_t>(g)].first + i));
    }
    /// Computes x = L⁻¹·x, columns of these groups only. `x` has the elimination order.
    void forward(std::span<const int> groups, double* x) const;
    /// Computes x = (D·Lᵀ)⁻¹·x, rows of these groups only.
    void backward(std::span<const int> groups, double* x) const;
    [[nodiscard]] std::size_t bytes() const {
        return value_.size() * sizeof(double) + row_.size() * sizeof(int) + group_.size() * sizeof(Group) + inverse_d_.size() * sizeof(double);
    }

    static constexpr int kGroup = 4;  // columns

private:
    struct Group {
        int first, width;   // columns
        int rows, row;      // number of rows below, and the first of them in row_
        std::size_t value;  // in value_: the triangle within the group by columns, then the rows below
    };
    struct Eigens;  // Eigen's types, which only the source file needs

    void regroup();
    template <int Width>
    void forward(const Group& group, double* x) const;
    template <int Width>
    void backward(const Group& group, double* x) const;

    std::unique_ptr<Eigens> eigens_;
    std::vector<int> place_, all_, row_, group_of_;  // group_of_: of each column
    std::vector<Group> group_;
    std::vector<double> value_, inverse_d_;
};

}  // namespace emt
