// Sparse LDLᵀ of the conductance matrix of a large task.
#pragma once
#include <array>
#include <compare>
#include <memory>
#include <span>
#include <vector>

#include "network/tasks.hpp"
#include "solver/nodal_matrix.hpp"

namespace emt {

/// The factors, in elimination order. Neighbouring columns with the same rows below them form a group, at most kGroup of them: the
/// nodes of a three-phase bus usually do. A solution walks the groups, so an index serves several columns.
///
/// The conductances of a synchronous machine change with each step: a constant part, and p·pᵀ at its three nodes. Only the groups between
/// these nodes and the root of the elimination tree depend on p. change() computes these again.
class SparseFactors {
public:
    /// `task` must outlive this.
    explicit SparseFactors(const Task& task);
    ~SparseFactors();
    SparseFactors(SparseFactors&&) noexcept;
    SparseFactors& operator=(SparseFactors&&) noexcept;

    /// Returns the slots of the machines with a p. A machine of equal conductances in both axes has none.
    [[nodiscard]] const std::vector<int>& machines() const { return machines_; }
    /// Computes the factors that depend on no p. Throws SingularNode.
    void factorise(double dt_s, const Topology& topology);
    /// Computes the others, with p of each of these machines. Needed before a solution if there are any.
    void change(std::span<const std::array<double, 3>> p);
    /// Computes x = Y⁻¹·x. `x` has the elimination order.
    void solve(double* x) const;
    /// Returns the place of a local node in the elimination order.
    [[nodiscard]] int place(int node) const { return place_[static_cast<std::size_t>(node)]; }
    [[nodiscard]] std::size_t bytes() const;
    /// Multiplications of a solution, and of a change.
    struct Work {
        std::size_t solution, change;
        auto operator<=>(const Work&) const = default;
    };
    [[nodiscard]] Work work() const;

    static constexpr int kGroup = 4;  // columns

private:
    struct Group {
        int first, width;   // columns
        int rows, row;      // number of rows below, and the first of them in row_
        std::size_t value;  // in value_: rows of `width` entries, first those of the group's own columns, then those below
        [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(width + rows); }
    };
    /// Rows `first` to `end` of a group, which are columns of a later one.
    struct Source {
        int group, first, end;
    };
    /// A group that changes.
    struct Changing {
        int group;
        std::vector<Source> fixed, changing;  // groups before it that have rows in it
    };
    struct Eigens;  // Eigen's types, which only the source file needs

    void regroup();
    void find_changing();
    void keep_base();
    [[nodiscard]] std::size_t value_of(int place, int other) const;
    [[nodiscard]] const Group& group(int g) const { return group_[static_cast<std::size_t>(g)]; }
    /// Makes a group the target of subtract().
    void aim(const Group& target);
    /// Subtracts what the elimination of an earlier group takes from the target.
    void subtract(const Source& source, const Group& target);
    template <int Width, int Columns>
    void subtract(const Group& source, int first, const Group& target);
    template <int Width>
    void eliminate(const Group& group);
    template <int Width>
    void forward(const Group& group, double* x) const;
    template <int Width>
    void backward(const Group& group, double* x) const;

    const Task* task_;
    std::vector<int> machines_;
    std::unique_ptr<Eigens> eigens_;
    std::vector<int> place_, row_, group_of_;  // group_of_: of each column
    std::vector<Group> group_;
    std::vector<double> value_;      // of L below its diagonal, and D on it; those above are not used
    std::vector<double> inverse_d_;
    std::vector<Changing> changing_;
    std::vector<std::size_t> changed_;  // in value_: the six entries of each p·pᵀ
    std::vector<double> base_;          // of the changing groups, one after another: the matrix less what the fixed groups take
    std::vector<int> target_row_;       // of each column, in the target
};

}  // namespace emt
