#include "network/tasks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace emt {
namespace {

class UnionFind {
public:
    explicit UnionFind(int size) : parent_(static_cast<std::size_t>(size)) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    int find(int i) {
        while (at(i) != i) i = at(i) = at(at(i));
        return i;
    }
    void join(int i, int j) {
        if (i == kGround || j == kGround) return;
        i = find(i), j = find(j);
        at(std::max(i, j)) = std::min(i, j);  // the root is the lowest node: tasks keep the order of the file
    }
    template <class Nodes>
    void join_all(const Nodes& nodes) {
        int first = kGround;
        for (const int i : nodes) {
            if (first == kGround) first = i;
            join(first, i);
        }
    }

private:
    int& at(int i) { return parent_[static_cast<std::size_t>(i)]; }
    std::vector<int> parent_;
};

template <class T>
T& at(std::vector<T>& v, int i) {
    return v[static_cast<std::size_t>(i)];
}

std::array<int, 6> six(const std::array<int, 3>& a, const std::array<int, 3>& b) {
    return {a[0], a[1], a[2], b[0], b[1], b[2]};
}

/// Sums of parallel reactances between two nodes, keyed by (capacitive, low node, high node).
using Parallel = std::map<std::tuple<bool, int, int>, Branch>;

class Splitter {
public:
    explicit Splitter(const Network& net) : net_(net) {}

    Decomposition run() {
        UnionFind parts(net_.nodes());
        for (const auto& e : net_.conductances) parts.join(e.p, e.q);
        for (const auto& e : net_.reactives) parts.join(e.p, e.q);
        for (const auto& e : net_.branches) parts.join(e.p, e.q);
        for (const auto& e : net_.rlcs) parts.join(e.p, e.q);
        for (const auto& e : net_.piecewise) parts.join(e.p, e.q);
        for (const auto& e : net_.switches) parts.join(e.p, e.q);
        for (const auto& e : net_.meters) parts.join(e.p, e.q);
        for (const auto& e : net_.coupled) parts.join_all(six(e.p, e.q));
        for (const auto& e : net_.transformers) parts.join_all(six(e.p, e.s));
        for (const auto& e : net_.lines)
            for (const auto& end : e.end) parts.join_all(end);
        number_tasks(parts);
        share_out();
        order_elements();
        find_islands();
        return std::move(out_);
    }

private:
    void number_tasks(UnionFind& parts) {
        out_.task_of_node.resize(static_cast<std::size_t>(net_.nodes()));
        out_.local_of_node = out_.task_of_node;
        std::map<int, int> task_of_root;
        for (int i = 0; i < net_.nodes(); ++i) {
            const auto [it, fresh] = task_of_root.emplace(parts.find(i), static_cast<int>(out_.tasks.size()));
            if (fresh) out_.tasks.emplace_back();
            Task& task = at(out_.tasks, it->second);
            at(out_.task_of_node, i) = it->second;
            at(out_.local_of_node, i) = task.size();
            task.nodes.push_back(i);
        }
        for (Task& t : out_.tasks) {
            t.inductive.assign(t.nodes.size(), 0);
            t.capacitive = t.inductive_i0 = t.inductive;
        }
    }
    int local(int node) { return node == kGround ? kGround : at(out_.local_of_node, node); }
    std::array<int, 3> local(const std::array<int, 3>& n) { return {local(n[0]), local(n[1]), local(n[2])}; }
    Task& owner(int p, int q) { return at(out_.tasks, at(out_.task_of_node, p != kGround ? p : q)); }
    template <class Nodes>
    Task& owner_of(const Nodes& nodes) {
        int first = kGround;
        for (const int i : nodes)
            if (first == kGround) first = i;
        return owner(first, kGround);
    }
    template <class T>
    void copy(const std::vector<T>& from, std::vector<T> Task::*list) {
        for (T e : from) {
            if (e.p == kGround && e.q == kGround) continue;
            Task& task = owner(e.p, e.q);
            e.p = local(e.p);
            e.q = local(e.q);
            (task.*list).push_back(std::move(e));
        }
    }
    void share_out() {
        copy(net_.conductances, &Task::conductances);
        copy(net_.branches, &Task::branches);
        copy(net_.rlcs, &Task::rlcs);
        copy(net_.piecewise, &Task::piecewise);
        copy(net_.switches, &Task::switches);
        copy(net_.meters, &Task::meters);
        merge_reactives();
        for (Coupled3 e : net_.coupled) {
            Task& task = owner_of(six(e.p, e.q));
            e.p = local(e.p);
            e.q = local(e.q);
            task.coupled.push_back(e);
        }
        for (Transformer3 e : net_.transformers) {
            Task& task = owner_of(e.p);
            e.p = local(e.p);
            e.s = local(e.s);
            task.transformers.push_back(e);
        }
        for (std::size_t i = 0; i < net_.lines.size(); ++i) {
            std::array<int, 2> ends{};
            for (std::size_t k = 0; k < 2; ++k) {
                const auto& nodes = net_.lines[i].end[k];
                ends[k] = at(out_.task_of_node, nodes[0]);
                owner_of(nodes).ends.push_back({static_cast<int>(i), static_cast<int>(k), local(nodes)});
            }
            out_.task_of_line.push_back(ends);
        }
    }
    /// By terminals, so that tasks that are built alike list their elements alike: then they share batches without gathers.
    void order_elements() {
        const auto by_pair = [](auto& list) {
            std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return std::pair(a.p, a.q) < std::pair(b.p, b.q); });
        };
        for (Task& t : out_.tasks) {
            by_pair(t.branches);
            by_pair(t.rlcs);
            by_pair(t.piecewise);
            by_pair(t.meters);
            std::stable_sort(t.ends.begin(), t.ends.end(), [](const LineEnd& a, const LineEnd& b) { return a.node < b.node; });
        }
    }
    void merge_reactives() {
        std::vector<Parallel> floating(out_.tasks.size());
        for (const Reactive& e : net_.reactives) {
            Task& task = owner(e.p, e.q);
            int p = local(e.p), q = local(e.q);
            double i0 = e.i0;
            if (p < q) {  // ground last, otherwise the higher number first: one key per pair
                std::swap(p, q);
                i0 = -i0;
            }
            if (q == kGround) {
                at(e.capacitive ? task.capacitive : task.inductive, p) += e.g;
                at(task.inductive_i0, p) += i0;
                continue;
            }
            Branch& b = floating[static_cast<std::size_t>(&task - out_.tasks.data())][{e.capacitive, p, q}];
            b.p = p;
            b.q = q;
            b.g += e.g;
            b.i0 += i0;
            b.c = e.capacitive ? Companion{-2 * b.g, -1, -b.g, 0} : Companion{2 * b.g, 1, b.g, 1};
        }
        for (std::size_t t = 0; t < floating.size(); ++t)
            for (const auto& [key, branch] : floating[t]) out_.tasks[t].branches.push_back(branch);
    }
    void find_islands() {
        UnionFind islands(static_cast<int>(out_.tasks.size()));
        for (const auto& [a, b] : out_.task_of_line) islands.join(a, b);
        std::map<int, int> number;
        for (int t = 0; t < static_cast<int>(out_.tasks.size()); ++t)
            at(out_.tasks, t).island = number.emplace(islands.find(t), static_cast<int>(number.size())).first->second;
        out_.islands = static_cast<int>(number.size());
    }

    const Network& net_;
    Decomposition out_;
};

}  // namespace

Decomposition decompose(const Network& net) { return Splitter(net).run(); }

Segment segment(const Piecewise& curve, int k) {
    const auto s = static_cast<std::size_t>(std::abs(k));
    const double slope = (curve.i[s + 1] - curve.i[s]) / (curve.x[s + 1] - curve.x[s]);
    const double offset = curve.i[s] - slope * curve.x[s];
    const double top = s + 2 < curve.x.size() ? curve.x[s + 1] : std::numeric_limits<double>::infinity();
    if (k == 0) return {-top, top, slope, 0};
    if (k > 0) return {curve.x[s], top, slope, offset};
    return {-top, -curve.x[s], slope, -offset};
}

int segment_at(const Piecewise& curve, double x) {
    int s = 0;
    while (static_cast<std::size_t>(s) + 2 < curve.x.size() && std::abs(x) > curve.x[static_cast<std::size_t>(s) + 1]) ++s;
    return x < 0 ? -s : s;
}

double piecewise_gain(const Piecewise& curve, double dt_s) { return curve.inductive ? dt_s / 2 : 1; }

}  // namespace emt
