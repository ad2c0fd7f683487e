#include "solver/batch.hpp"

#include <algorithm>
#include <cstring>

#include "network/phasor.hpp"
#include "solver/block_start.hpp"

namespace emt {

Batch::Batch(const Network& net, const Decomposition& parts, std::span<const int> ids, const std::vector<Complex>& phasors)
    : net_(net) {
    for (const int id : ids) {
        const Task& task = parts.tasks[static_cast<std::size_t>(id)];
        lane_.push_back({id, &task, initial_topology(task), 0, nullptr});
        sparse_ = sparse_ || task.size() > kDenseNodes;
        view_.n = std::max(view_.n, task.size());
    }
    view_.sparse = sparse_;
    index_terminals();
    std::vector<const Task*> tasks;
    for (const LaneTask& l : lane_) tasks.push_back(l.task);
    blocks_.emplace(tasks);
    blocks_->tell(view_.blocks);
    lay_out(view_, rows_);
    state_ = AlignedDoubles(kLanes * rows_.state_rows);
    constants_ = AlignedDoubles(kLanes * (rows_.constant_rows + 2 * rows_.step_rows));
    view_ = view_of(state_);
    place_signals();
    index_reads();
    start(phasors);
    for (int l = 0; l < lanes(); ++l) {
        if (sparse_) lane(l).sparse = std::make_unique<SparseFactors>(*lane(l).task);
        refactor(l, view_);
    }
}

/// Each kind's slots are filled in the task's own order, so a lane never depends on its neighbours.
void Batch::index_terminals() {
    for_each_batched([&](auto list, auto rows) {
        auto& slots = (view_.*rows).at;
        for (const LaneTask& l : lane_) slots.count = std::max(slots.count, static_cast<int>((l.task->*list).size()));
        for (std::size_t s = 0; s < static_cast<std::size_t>(slots.count); ++s) {
            const auto& model = (lane_[owner_of(list, s)].task->*list)[s].node;
            bool same = true;
            for (std::size_t t = 0; t < model.size(); ++t)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    // Lanes without this slot copy the first one that has it: their coefficients are zero.
                    const int node = has_slot(list, l, s) ? (lane_[l].task->*list)[s].node[t] : model[t];
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

void Batch::place_signals() {
    for (std::size_t l = 0; l < lane_.size(); ++l) {
        place_.emplace_back(lane_[l].task->signals.size());
        prediction_.emplace_back(lane_[l].task->signals.size());
        for_each_batched([&](auto list, auto rows) {
            if constexpr (requires { (view_.*rows).published; }) {
                double* at = (view_.*rows).published + l;
                for (const auto& e : lane_[l].task->*list)
                    for (const int signal : e.publishes) {
                        if (signal != kNoSignal) place_[l][static_cast<std::size_t>(signal)] = at;
                        at += kLanes;
                    }
            }
        });
        const BlockRows& rows = view_.blocks;
        for (std::size_t s = 0; s < lane_[l].task->blocks.size(); ++s) {
            const auto signal = static_cast<std::size_t>(lane_[l].task->blocks[s].publishes[0]);
            place_[l][signal] = rows.published + s * kLanes + l;
            if (rows.slot[s].has(kPrediction)) prediction_[l][signal] = rows.state + static_cast<std::ptrdiff_t>(rows.slot[s].prediction) * kLanes + l;
        }
    }
}

int Batch::offset_of(std::size_t lane, int signal, bool prediction) const {
    const double* const at = signal == kNoSignal ? view_.nothing + lane : (prediction ? prediction_ : place_)[lane][static_cast<std::size_t>(signal)];
    return static_cast<int>(at - state_.data());
}

void Batch::index_reads() {
    blocks_->connect([&](std::size_t lane, const Block& block, int input) {
        const auto k = static_cast<std::size_t>(input);
        return offset_of(lane, block.reads[k], block.early[k]);
    });
    for_each_batched([&](auto list, auto rows) {
        if constexpr (requires { (view_.*rows).reads; }) {
            auto& reads = (view_.*rows).reads;
            reads.count = (view_.*rows).at.count;
            for (std::size_t s = 0; s < static_cast<std::size_t>(reads.count); ++s) {
                bool same = true;
                for (std::size_t k = 0; k < static_cast<std::size_t>(reads.kTerminals); ++k)
                    for (std::size_t l = 0; l < kLanes; ++l) {
                        // Lanes without this slot copy the first one that has it: their coefficients are zero.
                        const std::size_t from = has_slot(list, l, s) ? l : owner_of(list, s);
                        const int signal = (lane_[from].task->*list)[s].reads[k];
                        read_index_.push_back(offset_of(from, signal, false) + static_cast<int>(l) - static_cast<int>(from));
                        same = same && read_index_.back() == *(read_index_.end() - 1 - static_cast<std::ptrdiff_t>(l)) + static_cast<int>(l);
                    }
                read_uniform_.push_back(same ? 1 : 0);
            }
        }
    });
    const int* offset = read_index_.data();
    const unsigned char* uniform = read_uniform_.data();
    for_each_batched([&](auto, auto rows) {
        if constexpr (requires { (view_.*rows).reads; }) {
            auto& reads = (view_.*rows).reads;
            reads.offset = offset;
            reads.uniform = uniform;
            offset += reads.count * reads.kTerminals * kLanes;
            uniform += reads.count;
        }
    });
}

void Batch::lay_out(BatchView& b, Layout& layout) {
    layout.written(b.v, b.n + 1);
    layout.written(b.j, b.n + 1);
    b.reactances.lay_out(layout, b.n);
    double* digest = nullptr;
    layout.written(digest, b.n);
    b.digest = reinterpret_cast<unsigned long long*>(digest);
    layout.written(b.joint, b.sparse ? 0 : b.machines.at.count * (b.machines.at.count + 1));
    layout.state(b.nothing, 1);
    layout.state(b.inverse, b.sparse ? 0 : b.n * b.n);
    b.blocks.lay_out(layout);
    for_each_batched([&](auto, auto rows) { (b.*rows).lay_out(layout); });
}

BatchView Batch::view_of(const AlignedDoubles& state) const {
    BatchView b = view_;
    Layout places(rows_, state.data(), constants_.data());
    lay_out(b, places);
    b.signals = state.data();
    return b;
}

void Batch::start(const std::vector<Complex>& phasors) {
    for (int l = 0; l < lanes(); ++l) {
        const Task& task = *lane(l).task;
        SignalStart signals{std::vector<std::optional<double>>(task.signals.size()), std::vector<std::optional<double>>(task.signals.size())};
        const LaneStart begin{net_.dt_s, net_.frequency_hz, step_operator(net_), l, view_.v, task.nodes, phasors, net_.nodes(), signals};
        for (int i = 0; i < task.size(); ++i) {
            const auto given = net_.initial_voltage.find(task.nodes[static_cast<std::size_t>(i)]);
            begin.at(view_.v, i) = begin.steady() || given == net_.initial_voltage.end() ? begin.phasor(i).real() : given->second;
            task.reactances[static_cast<std::size_t>(i)].start(begin, view_.reactances, i);
        }
        if (begin.steady())
            for (std::size_t p = 0; p < task.switches.size(); ++p) {
                const Switch& s = task.switches[p];
                lane(l).topology.closed[p] = s.starts_closed(begin.phasor_across(s.node[0], s.node[1])) ? 1 : 0;
            }
        for_each_batched([&](auto list, auto rows) {
            int slot = 0;
            for (const auto& e : task.*list) {
                e.start(begin, view_.*rows, slot);
                if constexpr (requires { e.before_step(view_.*rows, slot, l, 0.0, StepTimes{}); })
                    if (e.each_step(net_.frequency_hz))
                        before_step_.emplace_back([&e, rows, slot, l, frequency = net_.frequency_hz](const BatchView& view, const StepTimes& times) {
                            e.before_step(view.*rows, slot, l, frequency, times);
                        });
                ++slot;
            }
        });
        start_blocks(begin);
    }
}

void Batch::start_blocks(const LaneStart& begin) {
    const std::vector<Block>& blocks = lane(begin.lane).task->blocks;
    const std::vector<Block::Start> at = begin.steady() ? start_steady(blocks, begin.signals) : start_at_rest(blocks, begin.signals);
    for (std::size_t s = 0; s < blocks.size(); ++s) {
        blocks[s].start(begin, view_.blocks, static_cast<int>(s), at[s]);
        begin.publish(blocks[s].publishes[0], blocks[s].clip.of(blocks[s].hold.of(at[s].y)));
    }
    for (std::size_t s = 0; s < begin.signals.published.size(); ++s)
        *place_[static_cast<std::size_t>(begin.lane)][s] = begin.signals.published[s].value_or(0);
}

std::span<double> Batch::line_history() const { return {view_.ends.history, 3 * kLanes * static_cast<std::size_t>(view_.ends.at.count)}; }

std::size_t Batch::bytes_touched() const {
    // Of the state all rows; of the constants one set of step coefficients; the terminals; factors.
    std::size_t factors = 0;
    for (const LaneTask& l : lane_)
        if (l.sparse != nullptr) factors += l.sparse->bytes();
    return factors + (rows_.state_rows + rows_.constant_rows + rows_.step_rows) * kLanes * sizeof(double) +
           (index_.size() + read_index_.size()) * sizeof(int) + uniform_.size() + read_uniform_.size() + blocks_->bytes();
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
