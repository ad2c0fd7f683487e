// The state of one lane of a batch, independent of the batch: the same bytes beside any other tasks.
#include "base/archive.hpp"
#include "solver/batch.hpp"

namespace emt {
namespace {

/// Used as a Layout: visits the rows of one lane that hold state.
struct LaneRows {
    int lane;
    Archive& archive;
    void rows(double* first, int count) {
        for (int i = 0; i < count; ++i) archive(cell(first, i, lane));
    }
    void finite_rows(double* first, int count) {
        for (int i = 0; i < count; ++i) archive.finite(cell(first, i, lane));
    }
    void written(double* first, int count) { rows(first, count); }
    void state(double* first, int count) { rows(first, count); }
    void constant(const double*, int) {}
    void step(const StepRows&, int) {}
};

}  // namespace

void Batch::visit_lane(int l, Archive& archive) {
    LaneTask& own = lane(l);
    const Task& task = *own.task;
    const int n = task.size();
    for (char& closed : own.topology.closed) archive.within(closed, char{0}, char{1});
    for (std::size_t k = 0; k < own.topology.segment.size(); ++k) {
        const int last = task.piecewise[k].last_segment();
        archive.within(own.topology.segment[k], -last, last);
    }
    archive.within(own.updates, 0, kRebuildAfter);
    LaneRows walk{l, archive};
    walk.finite_rows(view_.v, n);
    view_.reactances.lay_out(walk, n);
    for (int i = 0; i < n; ++i) archive(view_.digest[static_cast<std::ptrdiff_t>(i) * kLanes + l]);
    // Not recomputed: updates of rank one have left their rounding in it.
    for (int i = 0; i < n && !sparse_; ++i) walk.finite_rows(view_.inverse + static_cast<std::ptrdiff_t>(i) * view_.n * kLanes, n);
    walk.rows(view_.blocks.published, static_cast<int>(task.blocks.size()));
    for (std::size_t s = 0; s < task.blocks.size(); ++s) {
        const BlockSlot& slot = view_.blocks.slot[s];
        const auto has = [parts = task.blocks[s].parts()](BlockPart part) { return (parts >> part & 1U) != 0; };
        const auto part = [&](int first, int count) { walk.rows(view_.blocks.state + static_cast<std::ptrdiff_t>(first) * kLanes, count); };
        if (has(kFilter)) part(slot.history, 1);
        if (has(kRate)) part(slot.rate, 2);
        if (has(kComparison)) part(slot.on, 1);
        if (has(kPrediction)) part(slot.prediction, 1);
    }
    // Every kind keeps its slots in order, so the slots of this task come first.
    for_each_batched([&](auto list, auto rows) {
        auto alone = view_.*rows;
        alone.at.count = static_cast<int>((task.*list).size());
        alone.lay_out(walk);
    });
    if (!archive.reads() || !sparse_) return;
    const int updates = own.updates;
    refactor(l, view_);
    own.updates = updates;
}

}  // namespace emt
