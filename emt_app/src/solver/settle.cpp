// Solutions of single lanes: after a change of the matrix, in sparse batches, and with piecewise elements that leave their
// segments.
#include "solver/batch.hpp"

#include <algorithm>

namespace emt {
namespace {

std::size_t rows(int count) { return static_cast<std::size_t>(count); }

}  // namespace

void Batch::refactor(int l, const BatchView& view) {
    LaneTask& lt = lane(l);
    lt.updates = 0;
    if (sparse_) {
        lt.sparse->factorise(*lt.task, net_.dt_s, lt.topology);
        std::vector<double> column(rows(lt.task->size()));
        int first = 0;
        for (const SynchronousMachine& m : lt.task->machines)
            for (const int node : m.node) {
                std::fill(column.begin(), column.end(), 0.0);
                column[rows(node)] = 1;
                lt.sparse->solve(column);
                for (int i = 0; i < lt.task->size(); ++i) cell(view.columns, first + i, l) = column[rows(i)];
                first += view.n;
            }
        return;
    }
    const std::vector<double> inverse = dense_inverse(*lt.task, net_.dt_s, lt.topology);
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

int Batch::settle(int l, const BatchView& view, const Kernels& kernels) {
    constexpr int kRebuildAfter = 16;  // rank-1 updates between fresh inverses: keeps rounding from piling up
    LaneTask& lt = lane(l);
    const int n = lt.task->size();
    const auto voltage = [&](int node) { return node == kGround ? 0.0 : cell(view.v, node, l); };
    for (int iteration = 1; iteration <= kSettle; ++iteration) {
        bool changed = false;
        for (std::size_t s = 0; s < lt.task->piecewise.size(); ++s) {
            const Piecewise& curve = lt.task->piecewise[s];
            const auto [p, q] = curve.node;
            const int slot = static_cast<int>(s);
            const double history = cell(view.piecewise.x, slot, l), gain = cell(view.piecewise.gain, slot, l);
            const double x = history + gain * (voltage(p) - voltage(q));
            int& now = lt.topology.segment[s];
            const Piecewise::Segment old = curve.segment(now);
            if (!(x < old.low) && !(x > old.high)) continue;
            // Far jumps may overshoot and cycle: after two rounds move by one segment only.
            const int target = curve.segment_at(x);
            now = iteration <= 2 ? target : now + (target > now ? 1 : -1);
            const Piecewise::Segment next = curve.segment(now);
            changed = true;
            cell(view.piecewise.low, slot, l) = next.low;
            cell(view.piecewise.high, slot, l) = next.high;
            cell(view.piecewise.slope, slot, l) = next.slope;
            cell(view.piecewise.offset, slot, l) = next.offset;
            const double dj = (next.offset + next.slope * history) - (old.offset + old.slope * history);
            if (p != kGround) cell(view.j, p, l) -= dj;
            if (q != kGround) cell(view.j, q, l) += dj;
            if (sparse_ || ++lt.updates > kRebuildAfter) continue;
            // Sherman–Morrison: Y' = Y + dg·w·wᵀ with w = +1 at p and -1 at q.
            const double dg = (next.slope - old.slope) * gain;
            std::vector<double> c(rows(n));
            const auto inverse = [&](int i, int k) { return k == kGround ? 0.0 : cell(view.inverse, i * view.n + k, l); };
            for (int i = 0; i < n; ++i) c[rows(i)] = inverse(i, p) - inverse(i, q);
            const double wcw = (p == kGround ? 0 : c[rows(p)]) - (q == kGround ? 0 : c[rows(q)]);
            const double f = dg / (1 + dg * wcw);
            for (int i = 0; i < n; ++i)
                for (int k = 0; k < n; ++k) cell(view.inverse, i * view.n + k, l) -= f * c[rows(i)] * c[rows(k)];
        }
        if (!changed) return iteration;
        if (sparse_ || lt.updates > kRebuildAfter) refactor(l, view);
        solve_lane(l, view);
        kernels.compensate(view, 1U << l);
    }
    return kSettle + 1;
}

}  // namespace emt
