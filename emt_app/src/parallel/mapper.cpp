#include "parallel/mapper.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

#include "parallel/batching.hpp"

#ifdef EMT_HAVE_METIS
#include <metis.h>
#endif

namespace emt {
namespace {

// Cost of communication in the model: one small message each way, and its bytes, on a node's shared memory.
constexpr double kNeighbourUs = 0.3;
constexpr double kLineUs = 0.015;
// Up to this many tasks per rank, whole batches are counted; with more tasks, a single batch does not matter.
constexpr std::size_t kCountedTasks = 400;

template <class V>
auto& at(V& v, int i) {
    return v[static_cast<std::size_t>(i)];
}

/// Load and neighbours of every rank under a mapping, kept up to date as tasks move.
class Model {
public:
    Model(const Decomposition& parts, std::vector<double> cost, std::vector<int> rank_of_task, int ranks)
        : cost_(std::move(cost)), rank_(std::move(rank_of_task)), load_(static_cast<std::size_t>(ranks)),
          cut_(static_cast<std::size_t>(ranks)), adjacent_(cost_.size()) {
        for (const auto& [a, b] : parts.task_of_line) {
            if (a == b) continue;
            adjacent_[static_cast<std::size_t>(a)].push_back(b);
            adjacent_[static_cast<std::size_t>(b)].push_back(a);
        }
        tasks_.resize(load_.size());
        for (std::size_t t = 0; t < cost_.size(); ++t) {
            ++at(tasks_, rank_[t]);
            at(load_, rank_[t]) += cost_[t];
            for (const int other : adjacent_[t])
                if (at(rank_, other) != rank_[t]) ++at(cut_, rank_[t])[at(rank_, other)];
        }
    }
    [[nodiscard]] double time(int r) const {
        double lines = 0;
        for (const auto& [q, count] : at(cut_, r)) lines += count;
        return at(load_, r) + kNeighbourUs * static_cast<double>(at(cut_, r).size()) + kLineUs * lines;
    }
    [[nodiscard]] double step_time() const {
        double worst = 0;
        for (int r = 0; r < ranks(); ++r) worst = std::max(worst, time(r));
        return worst;
    }
    void move(int task, int to) {
        const int from = at(rank_, task);
        for (const int other : adjacent_[static_cast<std::size_t>(task)]) {
            const int q = at(rank_, other);
            if (other == task) continue;
            if (q != from) drop(from, q), drop(q, from);
            if (q != to) ++at(cut_, to)[q], ++at(cut_, q)[to];
        }
        at(load_, from) -= at(cost_, task);
        at(load_, to) += at(cost_, task);
        --at(tasks_, from);
        ++at(tasks_, to);
        at(rank_, task) = to;
        if (batching_ != nullptr) count(from), count(to);
    }
    /// Counts the load of a rank by its batches from now on.
    void count_batches(const Batching& batching) {
        batching_ = &batching;
        for (int r = 0; r < ranks(); ++r) count(r);
    }
    /// Gives every rank a task if there are enough: the user chose the number of ranks.
    [[nodiscard]] bool leaves_idle() const { return std::find(tasks_.begin(), tasks_.end(), 0) != tasks_.end(); }
    /// Moves tasks off the slowest rank while this shortens the step.
    void refine() {
        for (int round = 0; round < 4 * static_cast<int>(cost_.size()); ++round) {
            int worst = 0, best = 0;
            for (int r = 0; r < ranks(); ++r) {
                if (time(r) > time(worst)) worst = r;
                if (at(load_, r) < at(load_, best)) best = r;
            }
            if (!improve(worst, best)) return;
        }
    }
    [[nodiscard]] const std::vector<int>& ranks_of_tasks() const { return rank_; }

private:
    [[nodiscard]] int ranks() const { return static_cast<int>(load_.size()); }
    void drop(int r, int q) {
        if (--at(cut_, r)[q] == 0) at(cut_, r).erase(q);
    }
    void count(int r) {
        std::vector<int> mine;
        for (int t = 0; t < static_cast<int>(cost_.size()); ++t)
            if (at(rank_, t) == r) mine.push_back(t);
        at(load_, r) = batching_->cost_us(std::move(mine));
    }
    /// Takes the best move off the slowest rank; with many small tasks, the first move that helps.
    bool improve(int worst, int idle) {
        if (at(tasks_, worst) < 2) return false;
        double least = time(worst) * (1 - 1e-9);
        int task = -1, target = -1;
        for (int t = 0; t < static_cast<int>(cost_.size()) && (task < 0 || batching_ != nullptr); ++t) {
            if (at(rank_, t) != worst) continue;
            std::set<int> targets{idle};
            for (const int other : adjacent_[static_cast<std::size_t>(t)]) targets.insert(at(rank_, other));
            targets.erase(worst);
            for (const int to : targets) {
                move(t, to);
                if (const double after = std::max(time(worst), time(to)); after < least) {
                    least = after;
                    task = t;
                    target = to;
                }
                move(t, worst);
            }
        }
        if (task >= 0) move(task, target);
        return task >= 0;
    }

    std::vector<double> cost_;
    std::vector<int> rank_;
    std::vector<double> load_;
    std::vector<int> tasks_;
    std::vector<std::map<int, int>> cut_;  // rank → lines to it
    std::vector<std::vector<int>> adjacent_;
    const Batching* batching_ = nullptr;
};

std::vector<int> longest_first(const std::vector<double>& cost, int ranks) {
    std::vector<int> order(cost.size()), out(cost.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return cost[static_cast<std::size_t>(a)] > cost[static_cast<std::size_t>(b)]; });
    std::vector<double> load(static_cast<std::size_t>(ranks));
    for (const int t : order) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += cost[static_cast<std::size_t>(t)];
        out[static_cast<std::size_t>(t)] = static_cast<int>(least - load.begin());
    }
    return out;
}

#ifdef EMT_HAVE_METIS
std::vector<int> by_metis(const Network& net, const Decomposition& parts, const std::vector<double>& cost, int ranks) {
    const std::size_t n = cost.size();
    std::vector<std::map<int, long>> edges(n);
    for (std::size_t l = 0; l < net.lines.size(); ++l) {
        const auto [a, b] = parts.task_of_line[l];
        if (a == b) continue;
        const int slack = std::min(net.lines[l].mode[0].delay, net.lines[l].mode[1].delay);
        const long weight = 1 + 100 / slack;
        edges[static_cast<std::size_t>(a)][b] += weight;
        edges[static_cast<std::size_t>(b)][a] += weight;
    }
    std::vector<idx_t> start{0}, to, edge_weight, vertex_weight, part(n);
    for (std::size_t t = 0; t < n; ++t) {
        for (const auto& [other, w] : edges[t]) {
            to.push_back(static_cast<idx_t>(other));
            edge_weight.push_back(static_cast<idx_t>(w));
        }
        start.push_back(static_cast<idx_t>(to.size()));
        vertex_weight.push_back(static_cast<idx_t>(1 + cost[t] * 1e4));
    }
    std::vector<idx_t> options(METIS_NOPTIONS);
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = 1;  // every rank must find the same mapping
    auto vertices = static_cast<idx_t>(n), constraints = idx_t{1}, parts_wanted = static_cast<idx_t>(ranks), cut = idx_t{0};
    if (METIS_PartGraphKway(&vertices, &constraints, start.data(), to.data(), vertex_weight.data(), nullptr, edge_weight.data(),
                            &parts_wanted, nullptr, nullptr, options.data(), &cut, part.data()) != METIS_OK)
        return {};
    return {part.begin(), part.end()};
}
#endif

}  // namespace

std::vector<double> shares_us(const Network& net, const Decomposition& parts, double work_us) {
    const Batching batching(net, parts);
    std::vector<double> out;
    for (int t = 0; t < static_cast<int>(parts.tasks.size()); ++t) out.push_back(batching.task_cost_us(t));
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (double& us : out) us *= work_us / sum;
    return out;
}

Mapping map_tasks(const Network& net, const Decomposition& parts, int ranks, const std::vector<double>& injected_us) {
    const Batching batching(net, parts);
    std::vector<double> cost = injected_us;
    for (int t = static_cast<int>(cost.size()); t < static_cast<int>(parts.tasks.size()); ++t) cost.push_back(batching.task_cost_us(t));
    if (ranks == 1) {
        std::vector<int> all(cost.size());
        std::iota(all.begin(), all.end(), 0);
        return {std::vector<int>(cost.size(), 0), "single",
                injected_us.empty() ? batching.cost_us(all) : std::accumulate(cost.begin(), cost.end(), 0.0)};
    }
    const auto refined = [&](std::vector<int> start) {
        Model model(parts, cost, std::move(start), ranks);
        model.refine();
        if (!injected_us.empty()) return model;
        model.count_batches(batching);
        if (cost.size() <= kCountedTasks * static_cast<std::size_t>(ranks)) model.refine();
        return model;
    };
    const Model lpt = refined(longest_first(cost, ranks));
    Mapping best{lpt.ranks_of_tasks(), "lpt", lpt.step_time()};
#ifdef EMT_HAVE_METIS
    // With fewer tasks than ranks, METIS prints complaints about parts without a vertex.
    if (cost.size() < static_cast<std::size_t>(ranks)) return best;
    if (std::vector<int> part = by_metis(net, parts, cost, ranks); !part.empty()) {
        const Model metis = refined(std::move(part));
        if (!metis.leaves_idle() && metis.step_time() < best.modelled_step_us) best = {metis.ranks_of_tasks(), "metis", metis.step_time()};
    }
#else
    (void)net;
#endif
    return best;
}

Mapping load_mapping(const std::string& path, int tasks, int ranks) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    const nlohmann::json root = nlohmann::json::parse(file, nullptr, false);
    const auto list = root.is_object() ? root.find("rank_of_task") : root.end();
    if (list == root.end() || !list->is_array() || static_cast<int>(list->size()) != tasks)
        throw std::runtime_error(path + ": needs \"rank_of_task\", a list of " + std::to_string(tasks) + " ranks, one for each task");
    Mapping out{{}, "file", 0};
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto& r = (*list)[i];
        if (!r.is_number_integer() || r.get<int>() < 0 || r.get<int>() >= ranks)
            throw std::runtime_error(path + ": rank_of_task[" + std::to_string(i) + "] is " + r.dump() + ", not a rank from 0 to " +
                                     std::to_string(ranks - 1));
        out.rank_of_task.push_back(r.get<int>());
    }
    return out;
}

}  // namespace emt
