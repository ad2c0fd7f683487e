// Up to kLanes tasks laid side by side, ready for the kernels.
#pragma once
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "network/phasor.hpp"
#include "network/tasks.hpp"
#include "solver/batch_view.hpp"
#include "solver/nodal_matrix.hpp"

namespace emt {

/// Zeroed doubles on a cache-line boundary.
class AlignedDoubles {
public:
    explicit AlignedDoubles(std::size_t size = 0);
    AlignedDoubles(const AlignedDoubles& o);
    AlignedDoubles(AlignedDoubles&&) noexcept = default;
    AlignedDoubles& operator=(AlignedDoubles&&) noexcept = default;
    void assign(const AlignedDoubles& o);  // same size
    [[nodiscard]] double* data() const { return data_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    struct Free {
        void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<double[], Free> data_;
    std::size_t size_ = 0;
};

/// A source whose waveform is not part of the vectorised sine: evaluated each step by itself.
struct SpecialSource {
    int slot, lane;
    const Coupled3* element;
};

struct LaneTask {
    int id = -1;                      // number of the task in the decomposition
    const Task* task = nullptr;
    Topology topology;
    int updates = 0;                  // rank-1 updates since the inverse was last computed afresh
    std::unique_ptr<SparseFactors> sparse;
};

class Batch {
public:
    /// `ids` are at most kLanes tasks. `phasors` holds the steady state of every node, or is empty for a zero start.
    Batch(const Network& net, const Decomposition& parts, std::span<const int> ids, const std::vector<Complex>& phasors);

    [[nodiscard]] const BatchView& view() const { return view_; }
    /// The same batch with another copy of its state.
    [[nodiscard]] BatchView view_of(const AlignedDoubles& state) const;
    [[nodiscard]] AlignedDoubles& state() { return state_; }
    [[nodiscard]] const AlignedDoubles& state() const { return state_; }
    [[nodiscard]] int lanes() const { return static_cast<int>(lane_.size()); }
    [[nodiscard]] LaneTask& lane(int l) { return lane_[static_cast<std::size_t>(l)]; }
    [[nodiscard]] const LaneTask& lane(int l) const { return lane_[static_cast<std::size_t>(l)]; }
    [[nodiscard]] bool sparse() const { return sparse_; }
    [[nodiscard]] const std::vector<SpecialSource>& special() const { return special_; }
    [[nodiscard]] std::span<double> line_history() const;  // all rows
    /// Bytes of state and coefficients that one ordinary step reads or writes, each counted once.
    [[nodiscard]] std::size_t bytes_touched() const;
    /// Those of them that it writes.
    [[nodiscard]] std::size_t bytes_written() const;

    /// Computes the inverse or the factors of a lane afresh. Throws SingularNode.
    void refactor(int lane, const BatchView& view);
    /// Moves piecewise elements of a lane to the segments they have left for, and solves again, until all agree.
    /// Returns the number of solutions; more than kSettle means that the last one was accepted unsettled.
    int settle(int lane, const BatchView& view);
    /// v = Y⁻¹·j of one lane of a sparse batch.
    void solve_sparse(int lane, const BatchView& view) const;
    /// Sets what special sources inject in the step from t_old to t_new.
    void set_special(const BatchView& view, double t_old_s, double t_new_s) const;

    static constexpr int kSettle = 5;  // iterations

private:
    void layout();
    void fill(const Network& net, const std::vector<Complex>& phasors);
    void solve_lane(int lane, const BatchView& view) const;

    const Network& net_;
    std::vector<LaneTask> lane_;
    std::vector<SpecialSource> special_;
    std::vector<int> index_;
    std::vector<unsigned char> uniform_;
    AlignedDoubles state_, constants_;
    std::size_t step_rows_ = 0;
    bool sparse_ = false;
    BatchView view_{};
};

}  // namespace emt
