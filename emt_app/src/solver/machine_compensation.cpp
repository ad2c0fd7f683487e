#include "solver/machine_compensation.hpp"

#include <algorithm>
#include <cmath>

#include "primitives/lane_start.hpp"

namespace emt {
namespace {

constexpr int kSiteDirections = 2;  // span the plane of α and β

}  // namespace

MachineCompensation::MachineCompensation(const Task& task, const SparseFactors& factors) : factors_(factors), work_(static_cast<std::size_t>(task.size())) {
    for (int slot = 0; slot < static_cast<int>(task.machines.size()); ++slot) {
        const SynchronousMachine& m = task.machines[static_cast<std::size_t>(slot)];
        if (m.y_d() == m.y_q()) continue;
        auto site = std::find_if(sites_.begin(), sites_.end(), [&](const Site& s) { return s.node == m.node; });
        if (site == sites_.end()) site = sites_.insert(site, {m.node, {}, {}, 0, 0});
        site->slot.push_back(slot);
    }
    int& count = equations_.count;
    for (Site& s : sites_) {
        s.first = count;
        count += s.directions = std::min(static_cast<int>(s.slot.size()), kSiteDirections);
    }
    equations_.rows = (count / kLanes + 1) * kLanes;
    const auto rows = static_cast<std::size_t>(equations_.rows), columns = static_cast<std::size_t>(count);
    response_ = AlignedDoubles(4 * rows * columns);
    matrix_ = AlignedDoubles(rows * columns);
    for (AlignedDoubles* row : {&alpha_, &beta_, &reciprocal_, &y_}) *row = AlignedDoubles(rows);
    equations_.response = response_.data();
    equations_.alpha = alpha_.data();
    equations_.beta = beta_.data();
    equations_.matrix = matrix_.data();
    equations_.reciprocal = reciprocal_.data();
    equations_.y = y_.data();
}

std::size_t MachineCompensation::bytes() const {
    return sizeof(double) * (response_.size() + alpha_.size() + beta_.size() + matrix_.size() + reciprocal_.size() + y_.size());
}

/// Components along the vectors (1, -½, -½) and (0, 1, -1).
MachineCompensation::AlphaBeta MachineCompensation::voltage(const Site& s) const {
    const auto v = [&](std::size_t phase) { return work_[static_cast<std::size_t>(s.place[phase])]; };
    return {v(0) - 0.5 * (v(1) + v(2)), v(1) - v(2)};
}

void MachineCompensation::inject(const Site& s, const AlphaBeta& current) {
    const auto [alpha, beta] = current;
    const std::array<double, 3> phase{alpha, beta - 0.5 * alpha, -(beta + 0.5 * alpha)};
    for (std::size_t i = 0; i < phase.size(); ++i) work_[static_cast<std::size_t>(s.place[i])] += phase[i];
}

void MachineCompensation::clear_path() {
    factors_.for_each_place(path_, [&](std::size_t i) { work_[i] = 0; });
}

void MachineCompensation::update() {
    if (empty()) return;
    if (path_.empty()) {  // the elimination order never changes
        std::vector<int> nodes;
        for (Site& s : sites_) {
            for (std::size_t i = 0; i < s.node.size(); ++i) s.place[i] = factors_.place(s.node[i]);
            nodes.insert(nodes.end(), s.node.begin(), s.node.end());
        }
        path_ = factors_.path(nodes);
    }
    const auto rows = static_cast<std::size_t>(equations_.rows);
    for (const Site& from : sites_) {
        const std::vector<int> own = factors_.path(from.node);
        for (std::size_t source = 0; source < 2; ++source) {
            clear_path();
            inject(from, source == 0 ? AlphaBeta{1, 0} : AlphaBeta{0, 1});
            factors_.forward(own, work_.data());
            factors_.backward(path_, work_.data());
            for (const Site& to : sites_) {
                const AlphaBeta v = voltage(to);
                for (int c = from.first; c < from.first + from.directions; ++c)
                    for (int r = to.first; r < to.first + to.directions; ++r)
                        for (std::size_t k = 0; k < 2; ++k) response_.data()[(4 * static_cast<std::size_t>(c) + 2 * k + source) * rows + static_cast<std::size_t>(r)] = v[k];
            }
        }
    }
}

void MachineCompensation::set_directions(const Site& s, int lane, const SynchronousMachineRows& machines) {
    double *const alpha = alpha_.data() + s.first, *const beta = beta_.data() + s.first;
    double aa = 0, ab = 0, bb = 0;
    for (std::size_t k = 0; k < s.slot.size(); ++k) {
        const auto p = [&](int phase) { return cell(machines.direction, 3 * s.slot[k] + phase, lane); };
        const double a = p(0), b = 0.5 * (p(1) - p(2));
        if (static_cast<int>(s.slot.size()) == s.directions) {
            alpha[k] = a;
            beta[k] = b;
        }
        aa += a * a;
        ab += a * b;
        bb += b * b;
    }
    if (static_cast<int>(s.slot.size()) == s.directions) return;
    // Cholesky factor of the sum.
    alpha[0] = std::sqrt(aa);
    beta[0] = aa > 0 ? ab / alpha[0] : 0;
    alpha[1] = 0;
    beta[1] = std::sqrt(std::max(0.0, bb - beta[0] * beta[0]));
}

void MachineCompensation::correct(int lane, const SynchronousMachineRows& machines, const Kernels& kernels, double* x) {
    factors_.for_each_place(path_, [&](std::size_t i) { work_[i] = x[i]; });
    factors_.backward(path_, work_.data());
    const auto each_direction = [&](auto&& visit) {
        for (const Site& s : sites_)
            for (int d = s.first; d < s.first + s.directions; ++d) visit(s, d);
    };
    for (const Site& s : sites_) set_directions(s, lane, machines);
    each_direction([&](const Site& s, int d) {
        const auto [v_alpha, v_beta] = voltage(s);
        y_.data()[d] = alpha_.data()[d] * v_alpha + beta_.data()[d] * v_beta;
    });
    kernels.solve_machines(equations_);
    clear_path();
    each_direction([&](const Site& s, int d) { inject(s, {alpha_.data()[d] * y_.data()[d], beta_.data()[d] * y_.data()[d]}); });
    factors_.forward(path_, work_.data());
    factors_.for_each_place(path_, [&](std::size_t i) { x[i] -= work_[i]; });
}

}  // namespace emt
