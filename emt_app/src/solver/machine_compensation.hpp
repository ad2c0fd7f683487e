// Compensation for the synchronous machines of a task with sparse factors.
//
// v = Y⁻¹·(j - P·y) with (1 + Pᵀ·Z·P)·y = Pᵀ·Y⁻¹·j, as in primitives/synchronous_machine.hpp. Z = Y⁻¹ is needed at the machines only.
// With Y = L·D·Lᵀ and x = L⁻¹·j, both Pᵀ·Y⁻¹·j = Pᵀ·(D·Lᵀ)⁻¹·x and L⁻¹·P·y need only columns of L between the machines and the root of
// the elimination tree. So the correction of x costs less than a second solution.
//
// The directions p have no zero sequence: α·(1, -½, -½) + β·(0, 1, -1) at the three nodes of a site. Of three and more machines at a
// site, only the sum of p·pᵀ matters, a matrix 2 × 2 in α and β: two directions have the same sum. A machine of equal conductances in
// both axes has p = 0.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "solver/aligned_doubles.hpp"
#include "solver/batch_view.hpp"
#include "solver/joint_equations.hpp"
#include "solver/sparse_factors.hpp"

namespace emt {

class MachineCompensation {
public:
    /// `factors`: of the task's matrix; must outlive this.
    MachineCompensation(const Task& task, const SparseFactors& factors);
    /// Returns true if the task has no machine that needs it.
    [[nodiscard]] bool empty() const { return sites_.empty(); }
    /// Computes Z at the machines, after each change of the factors.
    void update();
    /// Corrects x = L⁻¹·j for the directions of a lane's machines.
    void correct(int lane, const SynchronousMachineRows& machines, const Kernels& kernels, double* x);
    /// Returns the number of unknowns y.
    [[nodiscard]] int directions() const { return equations_.count; }
    /// Returns the bytes that correct() reads or writes besides the factors.
    [[nodiscard]] std::size_t bytes() const;

private:
    using AlphaBeta = std::array<double, 2>;
    struct Site {  // three nodes
        Nodes3 node;
        Nodes3 place;           // in the elimination order
        std::vector<int> slot;  // of its machines
        int first, directions;
    };
    [[nodiscard]] AlphaBeta voltage(const Site& site) const;
    void inject(const Site& site, const AlphaBeta& current);
    void set_directions(const Site& site, int lane, const SynchronousMachineRows& machines);
    void clear_path();

    const SparseFactors& factors_;
    std::vector<Site> sites_;
    std::vector<int> path_;      // groups of columns between all sites and the root
    std::vector<double> work_;   // in elimination order; zero off the path
    AlignedDoubles response_, alpha_, beta_, matrix_, reciprocal_, y_;
    JointEquations equations_{};
};

}  // namespace emt
