#include "parallel/batching.hpp"

#include <algorithm>
#include <numeric>

#include "solver/batch_view.hpp"
#include "solver/nodal_matrix.hpp"

namespace emt {
namespace {

// Least-squares fit to 315 batches of the Hydro-Québec-like network on one AVX-512 core (r.m.s. error 13 ns of 152).
constexpr double kBatchNs = 20, kInverseNs = 0.25, kNodeNs = 0.4, kGatherNs = 6;
// Rings of past waves, per end of a line: the difference to the measured step of the whole network.
constexpr double kRingNs = 3.8;
constexpr std::size_t kEnds = 2;
// In the order of Shape: coupled branches, piecewise elements, line ends, transformers, branches, series RLC, meters.
constexpr std::array kElementNs{18.0, 4.9, 9.6, 20.0, 3.3, 4.8, 1.0};

std::array<int, 6> join(const std::array<int, 3>& a, const std::array<int, 3>& b) { return {a[0], a[1], a[2], b[0], b[1], b[2]}; }

}  // namespace

// The kinds with the most rows per element come first: then a batch has few empty places and hardly any gathers.
Batching::Shape Batching::shape_of(const Task& task) {
    Shape s{task.size(), {}, {}};
    const auto two = [](std::vector<Terminals>& to, const auto& list) {
        for (const auto& e : list) to.push_back({e.p, e.q});
    };
    for (const Coupled3& e : task.coupled) s.elements[0].push_back(join(e.p, e.q));
    two(s.elements[1], task.piecewise);
    for (const LineEnd& e : task.ends) s.elements[kEnds].push_back(join(e.node, {}));
    for (const Transformer3& e : task.transformers) s.elements[3].push_back(join(e.p, e.s));
    two(s.elements[4], task.branches);
    two(s.elements[5], task.rlcs);
    two(s.elements[6], task.meters);
    for (std::size_t k = 0; k < kKinds; ++k) s.count[k] = s.elements[k].size();
    return s;
}

Batching::Batching(const Decomposition& parts) : place_(parts.tasks.size()) {
    for (const Task& t : parts.tasks) shape_.push_back(shape_of(t));
    std::vector<std::size_t> order(place_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shape_[a] < shape_[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) place_[order[i]] = static_cast<int>(i);
}

std::vector<std::vector<int>> Batching::groups(std::vector<int> tasks) const {
    std::sort(tasks.begin(), tasks.end(), [&](int a, int b) { return place_[static_cast<std::size_t>(a)] < place_[static_cast<std::size_t>(b)]; });
    const auto sparse = [&](int t) { return shape_[static_cast<std::size_t>(t)].nodes > kDenseNodes; };
    std::vector<std::vector<int>> out;
    for (const int t : tasks) {
        if (out.empty() || out.back().size() == kLanes || sparse(out.back().back()) != sparse(t)) out.emplace_back();
        out.back().push_back(t);
    }
    return out;
}

/// All lanes wait for the one with the most; an element whose terminals differ between lanes is gathered.
double Batching::batch_us(const std::vector<int>& group) const {
    double nodes = 0, ns = kBatchNs;
    for (const int t : group) {
        const Shape& shape = shape_[static_cast<std::size_t>(t)];
        nodes = std::max(nodes, static_cast<double>(shape.nodes));
        ns += kRingNs * static_cast<double>(shape.count[kEnds]);
    }
    for (std::size_t k = 0; k < kKinds; ++k) {
        std::vector<Terminals> seen;
        std::vector<bool> gathered;
        for (const int t : group) {
            const std::vector<Terminals>& mine = shape_[static_cast<std::size_t>(t)].elements[k];
            for (std::size_t i = 0; i < mine.size(); ++i) {
                if (i == seen.size()) {
                    seen.push_back(mine[i]);
                    gathered.push_back(false);
                }
                gathered[i] = gathered[i] || seen[i] != mine[i];
            }
        }
        ns += kElementNs[k] * static_cast<double>(seen.size()) +
              kGatherNs * static_cast<double>(std::count(gathered.begin(), gathered.end(), true));
    }
    return 1e-3 * (ns + kInverseNs * nodes * nodes + kNodeNs * nodes);
}

double Batching::cost_us(std::vector<int> tasks) const {
    double sum = 0;
    for (const std::vector<int>& group : groups(std::move(tasks))) sum += batch_us(group);
    return sum;
}

double Batching::task_cost_us(int task) const { return batch_us(std::vector<int>(kLanes, task)) / kLanes; }

}  // namespace emt
