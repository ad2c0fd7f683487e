#include "solver/batch.hpp"

#include <algorithm>
#include <cstring>

#include "network/phasor.hpp"

namespace emt {

Batch::Batch(const Network& net, const Decomposition& parts, std::span<const int> ids, const std::vector<Complex>& phasors)
    : net_(net) {
    for (const int id : ids) {
        const Task& task = parts.tasks[static_cast<std::size_t>(id)];
        lane_.push_back({id, &task, initial_topology(task), 0, nullptr});
        sparse_ = sparse_ || task.size() > kDenseNodes;
        view_.n = std::max(view_.n, task.size());
    }
    index_terminals();
    lay_out(view_, rows_, sparse_);
    state_ = AlignedDoubles(kLanes * rows_.state_rows);
    constants_ = AlignedDoubles(kLanes * (rows_.constant_rows + 2 * rows_.step_rows));
    view_ = view_of(state_);
    start(phasors);
    for (int l = 0; l < lanes(); ++l) {
        if (sparse_) lane(l).sparse = std::make_unique<SparseFactors>();
        refactor(l, view_);
    }
}

/// Each kind's slots are filled in the task's own order, so a lane never depends on its neighbours.
void Batch::index_terminals() {
    for_each_batched([&](auto list, auto rows) {
        auto& slots = (view_.*rows).at;
        const auto has = [&](std::size_t l, std::size_t s) { return l < lane_.size() && s < (lane_[l].task->*list).size(); };
        for (const LaneTask& l : lane_) slots.count = std::max(slots.count, static_cast<int>((l.task->*list).size()));
        for (std::size_t s = 0; s < static_cast<std::size_t>(slots.count); ++s) {
            std::size_t owner = 0;
            while (!has(owner, s)) ++owner;
            const auto& model = (lane_[owner].task->*list)[s].node;
            bool same = true;
            for (std::size_t t = 0; t < model.size(); ++t)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    // Lanes without this slot copy the first one that has it: their coefficients are zero.
                    const int node = has(l, s) ? (lane_[l].task->*list)[s].node[t] : model[t];
                    same = same && node == model[t];
                    index_.push_back((node == kGround ? view_.n : node) * kLanes + static_cast<int>(l));
                }
            uniform_.push_back(same ? 1 : 0);
        }
    });
    const int* offset = index_.data();
    const unsigned char* uniform = uniform_.data();
    for_each_batched([&](auto, auto rows) {
        auto& slots = (view_.*rows).at;
        slots.offset = offset;
        slots.uniform = uniform;
        offset += slots.count * slots.kTerminals * kLanes;
        uniform += slots.count;
    });
}

void Batch::lay_out(BatchView& b, Layout& layout, bool sparse) {
    layout.written(b.v, b.n + 1);
    layout.written(b.j, b.n + 1);
    b.reactances.lay_out(layout, b.n);
    double* digest = nullptr;
    layout.written(digest, b.n);
    b.digest = reinterpret_cast<unsigned long long*>(digest);
    layout.state(b.inverse, sparse ? 0 : b.n * b.n);
    for_each_batched([&](auto, auto rows) { (b.*rows).lay_out(layout); });
}

BatchView Batch::view_of(const AlignedDoubles& state) const {
    BatchView b = view_;
    Layout places(rows_, state.data(), constants_.data());
    lay_out(b, places, sparse_);
    return b;
}

void Batch::start(const std::vector<Complex>& phasors) {
    for (int l = 0; l < lanes(); ++l) {
        const Task& task = *lane(l).task;
        const LaneStart begin{net_.dt_s, net_.frequency_hz, step_operator(net_), l, view_.v, task.nodes, phasors};
        for (int i = 0; i < task.size(); ++i) {
            const auto given = net_.initial_voltage.find(task.nodes[static_cast<std::size_t>(i)]);
            begin.at(view_.v, i) = begin.steady() || given == net_.initial_voltage.end() ? begin.phasor(i).real() : given->second;
            task.reactances[static_cast<std::size_t>(i)].start(begin, view_.reactances, i);
        }
        for_each_batched([&](auto list, auto rows) {
            int slot = 0;
            for (const auto& e : task.*list) {
                e.start(begin, view_.*rows, slot);
                if constexpr (requires { e.before_step(view_.*rows, slot, l, 0.0, 0.0, 0.0); })
                    if (e.each_step(net_.frequency_hz))
                        before_step_.emplace_back([&e, rows, slot, l, frequency = net_.frequency_hz](const BatchView& view, double t_old, double t_new) {
                            e.before_step(view.*rows, slot, l, frequency, t_old, t_new);
                        });
                ++slot;
            }
        });
    }
}

std::span<double> Batch::line_history() const { return {view_.ends.history, 3 * kLanes * static_cast<std::size_t>(view_.ends.at.count)}; }

std::size_t Batch::bytes_touched() const {
    // Of the state all rows; of the constants one set of step coefficients; and the terminals.
    return (rows_.state_rows + rows_.constant_rows + rows_.step_rows) * kLanes * sizeof(double) + index_.size() * sizeof(int) + uniform_.size();
}

std::size_t Batch::bytes_written() const {
    std::size_t rows = 0;
    for (const auto& run : rows_.runs) rows += run.count;
    return rows * kLanes * sizeof(double);
}

void Batch::copy_written(const AlignedDoubles& from, AlignedDoubles& to) const {
    for (const auto& run : rows_.runs)
        std::memcpy(to.data() + run.first * kLanes, from.data() + run.first * kLanes, run.count * kLanes * sizeof(double));
}

void Batch::between(int l, const AlignedDoubles& from, const AlignedDoubles& until, double w, AlignedDoubles& to) const {
    for (const auto& run : rows_.runs)
        for (std::size_t i = run.first; i < run.first + run.count; ++i) {
            const std::size_t at = i * kLanes + static_cast<std::size_t>(l);
            to.data()[at] = from.data()[at] + w * (until.data()[at] - from.data()[at]);
        }
}

void Batch::take_lane(int l, const AlignedDoubles& from) {
    for (std::size_t at = static_cast<std::size_t>(l); at < state_.size(); at += kLanes) state_.data()[at] = from.data()[at];
}

}  // namespace emt
