// Up to kLanes tasks side by side, ready for the kernels.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "network/tasks.hpp"
#include "solver/aligned_doubles.hpp"
#include "solver/batch_view.hpp"
#include "solver/block_plan.hpp"
#include "solver/layout.hpp"
#include "solver/nodal_matrix.hpp"
#include "solver/sparse_factors.hpp"
#include "solver/step_parts.hpp"

namespace emt {

class Archive;

/// Calls visit(list of a task, its rows) for each kind that has rows in a batch, as pointers to members.
template <class Visit>
void for_each_batched(Visit&& visit) {
#define EMT_PRIMITIVE(Type, list) visit(&Task::list, &BatchView::list);
#include "primitives/table.inc"
    visit(&Task::ends, &BatchView::ends);
    visit(&Task::piecewise, &BatchView::piecewise);
}

struct LaneTask {
    int id = -1;                      // number of the task in the decomposition
    const Task* task = nullptr;
    Topology topology;
    int updates = 0;                  // rank-1 updates since the last full computation of the inverse
    std::unique_ptr<SparseFactors> sparse;  // null with an inverse
};

class Batch {
public:
    /// `ids`: at most kLanes tasks. `phasors`: the steady state of every node, or empty for a zero start.
    Batch(const Network& net, const Decomposition& parts, std::span<const int> ids, const std::vector<Complex>& phasors);

    [[nodiscard]] const BatchView& view() const { return view_; }
    /// Returns the view of the batch with another copy of its state.
    [[nodiscard]] BatchView view_of(const AlignedDoubles& state) const;
    /// Returns the view's rows in another copy of the state.
    [[nodiscard]] double* rows_in(const AlignedDoubles& copy, const double* rows) const { return copy.data() + (rows - state_.data()); }
    [[nodiscard]] AlignedDoubles& state() { return state_; }
    [[nodiscard]] const AlignedDoubles& state() const { return state_; }
    /// Copies the rows that steps write to another copy of the state.
    void copy_written(const AlignedDoubles& from, AlignedDoubles& to) const;
    /// Interpolates those rows of one lane linearly between two instants: from + w·(until - from).
    void between(int lane, const AlignedDoubles& from, const AlignedDoubles& until, double w, AlignedDoubles& to) const;
    /// Takes all rows of one lane from another copy of the state.
    void take_lane(int lane, const AlignedDoubles& from);
    /// Visits all state of one lane, in an order and with a size independent of its neighbours (lane_state.cpp).
    void visit_lane(int lane, Archive& archive);
    [[nodiscard]] AlignedDoubles& constants() { return constants_; }
    [[nodiscard]] int lanes() const { return static_cast<int>(lane_.size()); }
    [[nodiscard]] LaneTask& lane(int l) { return lane_[static_cast<std::size_t>(l)]; }
    [[nodiscard]] const LaneTask& lane(int l) const { return lane_[static_cast<std::size_t>(l)]; }
    [[nodiscard]] bool sparse() const { return sparse_; }
    /// Returns the value of a signal of the lane's task, by reference.
    [[nodiscard]] const double& signal(int lane, int local) const {
        return *place_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(local)];
    }
    [[nodiscard]] std::span<double> line_history() const;  // all rows
    /// Returns the bytes of state and coefficients that one ordinary step reads or writes, each counted once.
    [[nodiscard]] std::size_t bytes_touched() const;
    /// Returns the bytes of these that it writes.
    [[nodiscard]] std::size_t bytes_written() const;

    /// Recomputes the inverse or the factors of a lane. Throws SingularNode.
    void refactor(int lane, const BatchView& view);
    /// Moves piecewise elements of a lane to the segments of their solution, and solves again, until all agree.
    /// Returns false if the last solution was accepted although some elements are beyond a corner.
    bool settle(int lane, const BatchView& view, const Kernels& kernels);
    /// Computes v = Y⁻¹·j of one lane of a sparse batch, machines included. `watch` may be null.
    void solve_sparse(int lane, const BatchView& view, StopWatch* watch) const;
    /// Does the elements' work before a step that is not vectorised, such as sources that are no steady sine.
    void before_step(const BatchView& view, const StepTimes& times) const {
        for (const auto& act : before_step_) act(view, times);
    }
    [[nodiscard]] std::size_t sources_of_their_own() const { return before_step_.size(); }

    static constexpr int kSettle = 5;         // iterations
    static constexpr int kRebuildAfter = 16;  // rank-1 updates between fresh inverses: limits the growth of rounding

private:
    template <class List>
    [[nodiscard]] bool has_slot(List list, std::size_t lane, std::size_t slot) const {
        return lane < lane_.size() && slot < (lane_[lane].task->*list).size();
    }
    /// Returns the first lane with this slot.
    template <class List>
    [[nodiscard]] std::size_t owner_of(List list, std::size_t slot) const {
        std::size_t lane = 0;
        while (!has_slot(list, lane, slot)) ++lane;
        return lane;
    }
    void index_terminals();
    void place_signals();
    void index_reads();
    [[nodiscard]] int offset_of(std::size_t lane, int signal, bool prediction) const;
    void start_blocks(const LaneStart& begin);
    static void lay_out(BatchView& view, Layout& layout);
    void start(const std::vector<Complex>& phasors);
    void solve_lane(int lane, const BatchView& view, const Kernels& kernels) const;
    /// Returns voltage or flux linkage of a piecewise element, by the present solution.
    [[nodiscard]] double argument(int lane, const BatchView& view, std::size_t element) const;
    void enter_segment(int lane, const BatchView& view, std::size_t element, int segment);
    void solve_again(int lane, const BatchView& view, const Kernels& kernels);
    /// Settles corner by corner, after kSettle longer steps.
    bool walk(int lane, const BatchView& view, const Kernels& kernels);

    const Network& net_;
    std::vector<LaneTask> lane_;
    std::vector<std::function<void(const BatchView&, const StepTimes&)>> before_step_;
    std::vector<int> index_, read_index_;  // of terminals, of signals
    std::vector<unsigned char> uniform_, read_uniform_;
    std::optional<BlockPlan> blocks_;
    std::vector<std::vector<double*>> place_, prediction_;  // of each lane's signals, in the state
    Layout rows_;                     // their numbers
    AlignedDoubles state_, constants_;
    bool sparse_ = false;
    bool stale_ = false;  // the inverse or the factors of the settling lane are out of date
    BatchView view_{};
};

}  // namespace emt
