#include "solver/batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace emt {

AlignedDoubles::AlignedDoubles(std::size_t size)
    : data_(static_cast<double*>(::operator new[](std::max<std::size_t>(size, 8) * sizeof(double), std::align_val_t{64}))),
      size_(size) {
    std::fill_n(data_.get(), size, 0.0);
}
AlignedDoubles::AlignedDoubles(const AlignedDoubles& o) : AlignedDoubles(o.size_) { assign(o); }
void AlignedDoubles::assign(const AlignedDoubles& o) { std::memcpy(data_.get(), o.data_.get(), size_ * sizeof(double)); }

namespace {

using Index = std::vector<std::array<int, 6>>;  // terminals of one lane's slots of one kind

std::size_t rows(int count) { return static_cast<std::size_t>(count); }

template <class T>
std::array<int, 6> two(const T& e) {
    return {e.p, e.q, 0, 0, 0, 0};
}
std::array<int, 6> six(const std::array<int, 3>& a, const std::array<int, 3>& b) {
    return {a[0], a[1], a[2], b[0], b[1], b[2]};
}

double& cell(const double* base, int row, int lane) {
    return const_cast<double*>(base)[static_cast<std::ptrdiff_t>(row) * kLanes + lane];
}

}  // namespace

Batch::Batch(const Network& net, const Decomposition& parts, std::span<const int> ids, const std::vector<Complex>& phasors)
    : net_(net) {
    for (const int id : ids) {
        const Task& task = parts.tasks[static_cast<std::size_t>(id)];
        lane_.push_back({id, &task, initial_topology(task), 0, nullptr});
        sparse_ = sparse_ || task.size() > kDenseNodes;
    }
    layout();
    fill(net, phasors);
    for (int l = 0; l < lanes(); ++l) {
        if (sparse_) lane(l).sparse = std::make_unique<SparseFactors>();
        refactor(l, view_);
    }
}

void Batch::layout() {
    BatchView& b = view_;
    for (const LaneTask& l : lane_) b.n = std::max(b.n, l.task->size());
    // Terminals: each kind's slots are filled in the task's own order, so a lane never depends on its neighbours.
    struct Kind {
        SlotIndex BatchView::*slots;
        int terminals;
        std::function<Index(const Task&)> collect;
    };
    const auto pairs = [](auto list) {
        return [list](const Task& t) {
            Index out;
            for (const auto& e : t.*list) out.push_back(two(e));
            return out;
        };
    };
    const std::array<Kind, 7> kinds{{
        {&BatchView::branch, 2, pairs(&Task::branches)},
        {&BatchView::rlc, 2, pairs(&Task::rlcs)},
        {&BatchView::coupled, 6, [](const Task& t) { Index o; for (const auto& e : t.coupled) o.push_back(six(e.p, e.q)); return o; }},
        {&BatchView::transformer, 6, [](const Task& t) { Index o; for (const auto& e : t.transformers) o.push_back(six(e.p, e.s)); return o; }},
        {&BatchView::line, 3, [](const Task& t) { Index o; for (const auto& e : t.ends) o.push_back(six(e.node, {0, 0, 0})); return o; }},
        {&BatchView::piecewise, 2, pairs(&Task::piecewise)},
        {&BatchView::meter, 2, pairs(&Task::meters)},
    }};
    std::array<std::pair<std::size_t, std::size_t>, 7> where{};  // offsets into index_ and uniform_
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        std::vector<Index> per_lane;
        std::size_t count = 0;
        for (const LaneTask& l : lane_) {
            per_lane.push_back(kinds[k].collect(*l.task));
            count = std::max(count, per_lane.back().size());
        }
        where[k] = {index_.size(), uniform_.size()};
        (b.*kinds[k].slots).count = static_cast<int>(count);
        for (std::size_t s = 0; s < count; ++s) {
            const auto owner = std::find_if(per_lane.begin(), per_lane.end(), [&](const Index& i) { return s < i.size(); });
            const std::array<int, 6> model = (*owner)[s];
            bool same = true;
            for (std::size_t t = 0; t < static_cast<std::size_t>(kinds[k].terminals); ++t)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    // Lanes without this slot copy the first one that has it: their coefficients are zero.
                    const bool has = l < per_lane.size() && s < per_lane[l].size();
                    const int node = has ? per_lane[l][s][t] : model[t];
                    same = same && node == model[t];
                    index_.push_back((node == kGround ? b.n : node) * kLanes + static_cast<int>(l));
                }
            uniform_.push_back(same ? 1 : 0);
        }
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        (b.*kinds[k].slots).offset = index_.data() + where[k].first;
        (b.*kinds[k].slots).uniform = uniform_.data() + where[k].second;
    }
    const int n = b.n;
    const std::size_t inverse = sparse_ ? 0 : rows(n) * rows(n);
    state_ = AlignedDoubles(kLanes * (2 * rows(n + 1) + 3 * rows(n) + inverse + rows(b.branch.count) + 2 * rows(b.rlc.count) +
                                      9 * rows(b.coupled.count) + 3 * rows(b.transformer.count) + 9 * rows(b.line.count) +
                                      5 * rows(b.piecewise.count) + rows(b.meter.count)));
    step_rows_ = 2 * rows(b.branch.count) + 3 * rows(b.rlc.count) + 24 * rows(b.coupled.count) +
                 2 * rows(b.transformer.count) + 2 * rows(b.piecewise.count) + 2 * rows(b.meter.count);
    constants_ = AlignedDoubles(kLanes * (2 * rows(n) + rows(b.rlc.count) + 6 * rows(b.coupled.count) +
                                          3 * rows(b.transformer.count) + 6 * rows(b.line.count) + rows(b.piecewise.count) +
                                          2 * step_rows_));
    b = view_of(state_);
    double* p = constants_.data();
    const auto take = [&](int count) {
        double* const out = p;
        p += rows(count) * kLanes;
        return out;
    };
    b.inductive2 = take(n);
    b.capacitive2 = take(n);
    b.rlc_g = take(b.rlc.count);
    b.coupled_ge = take(6 * b.coupled.count);
    b.transformer_ratio = take(b.transformer.count);
    b.transformer_m1 = take(b.transformer.count);
    b.transformer_m2 = take(b.transformer.count);
    b.line_y = take(2 * b.line.count);
    b.line_beta = take(2 * b.line.count);
    b.line_fraction = take(2 * b.line.count);
    b.piecewise_gain = take(b.piecewise.count);
    for (StepCoefficients& s : b.step) {
        s.branch_a = take(b.branch.count);
        s.branch_b = take(b.branch.count);
        s.rlc_e1 = take(b.rlc.count);
        s.rlc_f1 = take(b.rlc.count);
        s.rlc_e2 = take(b.rlc.count);
        s.coupled_a = take(9 * b.coupled.count);
        s.coupled_b = take(9 * b.coupled.count);
        s.coupled_ae = take(6 * b.coupled.count);
        s.transformer_a = take(b.transformer.count);
        s.transformer_b = take(b.transformer.count);
        s.piecewise_a = take(b.piecewise.count);
        s.piecewise_b = take(b.piecewise.count);
        s.meter_a = take(b.meter.count);
        s.meter_b = take(b.meter.count);
    }
    b.step[0].layer_scale = 1;
    b.step[0].capacitor_keep = -1;
    b.step[1].layer_scale = 0.5;
    b.step[1].capacitor_keep = 0;
}

BatchView Batch::view_of(const AlignedDoubles& state) const {
    BatchView b = view_;
    double* p = state.data();
    const auto take = [&](std::size_t count) {
        double* const out = p;
        p += count * kLanes;
        return out;
    };
    b.v = take(rows(b.n + 1));
    b.j = take(rows(b.n + 1));
    b.inductor = take(rows(b.n));
    b.capacitor = take(rows(b.n));
    b.digest = reinterpret_cast<unsigned long long*>(take(rows(b.n)));
    b.inverse = take(sparse_ ? 0 : rows(b.n) * rows(b.n));
    b.branch_h = take(rows(b.branch.count));
    b.rlc_y1 = take(rows(b.rlc.count));
    b.rlc_y2 = take(rows(b.rlc.count));
    b.coupled_h = take(3 * rows(b.coupled.count));
    b.coupled_e = take(3 * rows(b.coupled.count));
    b.coupled_j = take(3 * rows(b.coupled.count));
    b.transformer_h = take(3 * rows(b.transformer.count));
    b.line_history = take(3 * rows(b.line.count));
    b.line_wave = take(3 * rows(b.line.count));
    b.line_previous = take(3 * rows(b.line.count));
    b.piecewise_x = take(rows(b.piecewise.count));
    b.piecewise_low = take(rows(b.piecewise.count));
    b.piecewise_high = take(rows(b.piecewise.count));
    b.piecewise_slope = take(rows(b.piecewise.count));
    b.piecewise_offset = take(rows(b.piecewise.count));
    b.meter_h = take(rows(b.meter.count));
    return b;
}

std::span<double> Batch::line_history() const {
    return {view_.line_history, 3 * rows(view_.line.count) * kLanes};
}

std::size_t Batch::bytes_touched() const {
    // Of the state all rows; of the constants one set of step coefficients; and the terminals.
    return (state_.size() + constants_.size() - step_rows_ * kLanes) * sizeof(double) + index_.size() * sizeof(int) + uniform_.size();
}

std::size_t Batch::bytes_written() const {
    const BatchView& b = view_;
    const std::size_t row_count = 2 * rows(b.n + 1) + 3 * rows(b.n) + rows(b.branch.count) + 2 * rows(b.rlc.count) + 3 * rows(b.coupled.count) +
                                  3 * rows(b.transformer.count) + 9 * rows(b.line.count) + rows(b.piecewise.count) + rows(b.meter.count);
    return row_count * kLanes * sizeof(double);
}

void Batch::refactor(int l, const BatchView& view) {
    LaneTask& lt = lane(l);
    lt.updates = 0;
    if (sparse_) {
        lt.sparse->factorise(*lt.task, net_.lines, net_.dt_s, lt.topology);
        return;
    }
    const std::vector<double> inverse = dense_inverse(*lt.task, net_.lines, net_.dt_s, lt.topology);
    const int n = lt.task->size();
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) cell(view.inverse, i * view.n + k, l) = inverse[rows(i) * rows(n) + rows(k)];
}

void Batch::solve_sparse(int l, const BatchView& view) const {
    const LaneTask& lt = lane(l);
    std::vector<double> x(rows(lt.task->size()));
    for (int i = 0; i < lt.task->size(); ++i) x[rows(i)] = cell(view.j, i, l);
    lt.sparse->solve(x);
    for (int i = 0; i < lt.task->size(); ++i) cell(view.v, i, l) = x[rows(i)];
}

void Batch::solve_lane(int l, const BatchView& view) const {
    if (sparse_) return solve_sparse(l, view);
    const int n = lane(l).task->size();
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += cell(view.inverse, i * view.n + k, l) * cell(view.j, k, l);
        cell(view.v, i, l) = sum;
    }
}

int Batch::settle(int l, const BatchView& view) {
    constexpr int kRebuildAfter = 16;  // rank-1 updates between fresh inverses: keeps rounding from piling up
    LaneTask& lt = lane(l);
    const int n = lt.task->size();
    const auto voltage = [&](int node) { return node == kGround ? 0.0 : cell(view.v, node, l); };
    for (int iteration = 1; iteration <= kSettle; ++iteration) {
        bool changed = false;
        for (std::size_t s = 0; s < lt.task->piecewise.size(); ++s) {
            const Piecewise& curve = lt.task->piecewise[s];
            const int slot = static_cast<int>(s);
            const double history = cell(view.piecewise_x, slot, l), gain = cell(view.piecewise_gain, slot, l);
            const double x = history + gain * (voltage(curve.p) - voltage(curve.q));
            int& now = lt.topology.segment[s];
            const Segment old = segment(curve, now);
            if (!(x < old.low) && !(x > old.high)) continue;
            // Far jumps may overshoot and cycle: after two rounds move by one segment only.
            const int target = segment_at(curve, x);
            now = iteration <= 2 ? target : now + (target > now ? 1 : -1);
            const Segment next = segment(curve, now);
            changed = true;
            cell(view.piecewise_low, slot, l) = next.low;
            cell(view.piecewise_high, slot, l) = next.high;
            cell(view.piecewise_slope, slot, l) = next.slope;
            cell(view.piecewise_offset, slot, l) = next.offset;
            const double dj = (next.offset + next.slope * history) - (old.offset + old.slope * history);
            if (curve.p != kGround) cell(view.j, curve.p, l) -= dj;
            if (curve.q != kGround) cell(view.j, curve.q, l) += dj;
            if (sparse_ || ++lt.updates > kRebuildAfter) continue;
            // Sherman–Morrison: Y' = Y + dg·w·wᵀ with w = +1 at p and -1 at q.
            const double dg = (next.slope - old.slope) * gain;
            std::vector<double> c(rows(n));
            const auto inverse = [&](int i, int k) { return k == kGround ? 0.0 : cell(view.inverse, i * view.n + k, l); };
            for (int i = 0; i < n; ++i) c[rows(i)] = inverse(i, curve.p) - inverse(i, curve.q);
            const double wcw = (curve.p == kGround ? 0 : c[rows(curve.p)]) - (curve.q == kGround ? 0 : c[rows(curve.q)]);
            const double f = dg / (1 + dg * wcw);
            for (int i = 0; i < n; ++i)
                for (int k = 0; k < n; ++k) cell(view.inverse, i * view.n + k, l) -= f * c[rows(i)] * c[rows(k)];
        }
        if (!changed) return iteration;
        if (sparse_ || lt.updates > kRebuildAfter) refactor(l, view);
        solve_lane(l, view);
    }
    return kSettle + 1;
}

void Batch::set_special(const BatchView& view, double t_old, double t_new) const {
    for (const SpecialSource& s : special_) {
        const Coupled3& c = *s.element;
        std::array<double, 3> e{};
        for (std::size_t k = 0; k < 3; ++k) {
            const bool vectorised = c.emf[k].steady(net_.frequency_hz);
            cell(view.coupled_e, 3 * s.slot + static_cast<int>(k), s.lane) = vectorised ? 0 : c.emf[k].at(t_old);
            e[k] = vectorised ? 0 : c.emf[k].at(t_new);
        }
        for (std::size_t k = 0; k < 3; ++k) {
            double sum = c.current[k].steady(net_.frequency_hz) ? 0 : c.current[k].at(t_new);
            for (std::size_t m = 0; m < 3; ++m) sum += c.g[k * 3 + m] * e[m];
            cell(view.coupled_j, 3 * s.slot + static_cast<int>(k), s.lane) = sum;
        }
    }
}

}  // namespace emt
