// Solutions of single lanes: after a change of the matrix, in sparse batches, and if piecewise elements leave their
// segments.
#include "solver/batch.hpp"

#include <algorithm>
#include <cmath>

namespace emt {
namespace {

std::size_t rows(int count) { return static_cast<std::size_t>(count); }

}  // namespace

void Batch::refactor(int l, const BatchView& view) {
    LaneTask& lt = lane(l);
    lt.updates = 0;
    if (sparse_) {
        lt.sparse->factorise(net_.dt_s, lt.topology);
        return;
    }
    const std::vector<double> inverse = dense_inverse(*lt.task, net_.dt_s, lt.topology);
    const int n = lt.task->size();
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) cell(view.inverse, i * view.n + k, l) = inverse[rows(i) * rows(n) + rows(k)];
}

void Batch::solve_sparse(int l, const BatchView& view, StopWatch* watch) const {
    const LaneTask& lt = lane(l);
    SparseFactors& factors = *lt.sparse;
    if (!factors.machines().empty()) {
        std::vector<std::array<double, 3>> p;
        for (const int slot : factors.machines()) {
            const auto direction = [&](int phase) { return cell(view.machines.direction, 3 * slot + phase, l); };
            p.push_back({direction(0), direction(1), direction(2)});
        }
        factors.change(p);
        if (watch != nullptr) watch->mark(StepPart::machines);
    }
    std::vector<double> x(rows(lt.task->size()));
    for (int i = 0; i < lt.task->size(); ++i) x[rows(factors.place(i))] = cell(view.j, i, l);
    factors.solve(x.data());
    for (int i = 0; i < lt.task->size(); ++i) cell(view.v, i, l) = x[rows(factors.place(i))];
    if (watch != nullptr) watch->mark(StepPart::solve);
}

void Batch::solve_lane(int l, const BatchView& view, const Kernels& kernels) const {
    if (sparse_) return solve_sparse(l, view, nullptr);
    const int n = lane(l).task->size();
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += cell(view.inverse, i * view.n + k, l) * cell(view.j, k, l);
        cell(view.v, i, l) = sum;
    }
    kernels.compensate(view, 1U << l);
}

double Batch::argument(int l, const BatchView& view, std::size_t element) const {
    const auto [p, q] = lane(l).task->piecewise[element].node;
    const auto voltage = [&](int node) { return node == kGround ? 0.0 : cell(view.v, node, l); };
    const int slot = static_cast<int>(element);
    return cell(view.piecewise.x, slot, l) + cell(view.piecewise.gain, slot, l) * (voltage(p) - voltage(q));
}

void Batch::enter_segment(int l, const BatchView& view, std::size_t element, int segment) {
    LaneTask& lt = lane(l);
    const int n = lt.task->size(), slot = static_cast<int>(element);
    const Piecewise& curve = lt.task->piecewise[element];
    const auto [p, q] = curve.node;
    const double history = cell(view.piecewise.x, slot, l), gain = cell(view.piecewise.gain, slot, l);
    const Piecewise::Segment old = curve.segment(lt.topology.segment[element]), next = curve.segment(segment);
    lt.topology.segment[element] = segment;
    cell(view.piecewise.low, slot, l) = next.low;
    cell(view.piecewise.high, slot, l) = next.high;
    cell(view.piecewise.slope, slot, l) = next.slope;
    cell(view.piecewise.offset, slot, l) = next.offset;
    const double dj = (next.offset + next.slope * history) - (old.offset + old.slope * history);
    if (p != kGround) cell(view.j, p, l) -= dj;
    if (q != kGround) cell(view.j, q, l) += dj;
    if (sparse_ || ++lt.updates > kRebuildAfter) {
        stale_ = true;
        return;
    }
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

void Batch::solve_again(int l, const BatchView& view, const Kernels& kernels) {
    if (stale_) refactor(l, view);
    stale_ = false;
    solve_lane(l, view, kernels);
}

bool Batch::settle(int l, const BatchView& view, const Kernels& kernels) {
    LaneTask& lt = lane(l);
    for (int iteration = 1; iteration <= kSettle; ++iteration) {
        bool changed = false;
        for (std::size_t s = 0; s < lt.task->piecewise.size(); ++s) {
            const Piecewise& curve = lt.task->piecewise[s];
            const double x = argument(l, view, s);
            const int now = lt.topology.segment[s];
            const Piecewise::Segment old = curve.segment(now);
            if (!(x < old.low) && !(x > old.high)) continue;
            // Far jumps may overshoot and cycle: after two rounds move by one segment only.
            const int target = curve.segment_at(x);
            enter_segment(l, view, s, iteration <= 2 ? target : now + (target > now ? 1 : -1));
            changed = true;
        }
        if (!changed) return true;
        solve_again(l, view, kernels);
    }
    return walk(l, view, kernels);
}

// Take the straight line from a point inside the present segments to the solution of these segments. At the first
// corner one element enters its next segment, and from there the line leads to another solution. This is the path of
// sources that grow from those of the first point to the present ones. It ends, because all slopes are positive (J.
// Katzenelson, "An algorithm for solving nonlinear resistor networks", Bell System Technical Journal 44(8), 1965).
bool Batch::walk(int l, const BatchView& view, const Kernels& kernels) {
    LaneTask& lt = lane(l);
    const std::vector<Piecewise>& curves = lt.task->piecewise;
    std::vector<double> at(curves.size()), to(curves.size());
    std::size_t corners = 0;
    for (std::size_t s = 0; s < curves.size(); ++s) {
        const Piecewise::Segment now = curves[s].segment(lt.topology.segment[s]);
        at[s] = std::isinf(now.low) && std::isinf(now.high) ? 0 : std::isinf(now.high) ? 1.5 * now.low : std::isinf(now.low) ? 1.5 * now.high : (now.low + now.high) / 2;
        corners += 2 * curves[s].x.size();
    }
    for (std::size_t passed = 0; passed <= 4 * corners; ++passed) {
        double part = 1;
        std::size_t first = curves.size();
        bool up = false;
        for (std::size_t s = 0; s < curves.size(); ++s) {
            to[s] = argument(l, view, s);
            const Piecewise::Segment now = curves[s].segment(lt.topology.segment[s]);
            const bool above = to[s] > now.high;
            // A voltage that is not a number leaves no segment; otherwise the search would run past the last one.
            if (!above && !(to[s] < now.low)) continue;
            const double reached = std::max(0.0, ((above ? now.high : now.low) - at[s]) / (to[s] - at[s]));
            if (reached < part || first == curves.size()) {
                part = reached;
                first = s;
                up = above;
            }
        }
        if (first == curves.size()) return true;
        for (std::size_t s = 0; s < curves.size(); ++s) at[s] += part * (to[s] - at[s]);
        enter_segment(l, view, first, lt.topology.segment[first] + (up ? 1 : -1));
        solve_again(l, view, kernels);
    }
    return false;
}

}  // namespace emt
