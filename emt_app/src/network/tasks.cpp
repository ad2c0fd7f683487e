#include "network/tasks.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "network/block_order.hpp"

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
        at(std::max(i, j)) = std::min(i, j);  // the root is the lowest node, so tasks keep the order of the file
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

/// Sums of parallel reactances between two nodes, keyed by (capacitive, low node, high node).
using Parallel = std::map<std::tuple<bool, int, int>, Branch>;

class Splitter {
public:
    explicit Splitter(const Network& net) : net_(net) {}

    Decomposition run() {
        UnionFind parts(net_.nodes() + net_.signals.count());
        for_each_list([&](auto list) {
            for (const auto& e : net_.*list) {
                parts.join_all(e.node);
                const auto node = std::find_if(e.node.begin(), e.node.end(), [](int i) { return i != kGround; });
                if (node != e.node.end()) join_signals(parts, e, *node);
            }
        });
        for (const Block& e : net_.blocks) join_signals(parts, e, net_.nodes() + e.publishes[0]);
        for (const Reactive& e : net_.reactives) parts.join_all(e.node);
        for (const Line& e : net_.lines)
            for (const Nodes3& end : e.end) parts.join_all(end);
        if (net_.nodes() > 0)
            for (int s = 0; s < net_.signals.count(); ++s)
                if (parts.find(net_.nodes() + s) >= net_.nodes()) parts.join(0, net_.nodes() + s);
        number_tasks(parts);
        number_signals(parts);
        share_out();
        order_elements();
        find_islands();
        return std::move(out_);
    }

private:
    /// Signals come after the nodes. Signals that no element makes join nothing.
    template <class E>
    void join_signals(UnionFind& parts, const E& e, int with) {
        const auto join = [&](const auto& signals) {
            for (const int s : signals)
                if (s != kNoSignal && net_.signals.made(s)) parts.join(with, net_.nodes() + s);
        };
        if constexpr (requires { e.reads; }) join(e.reads);
        if constexpr (requires { e.publishes; }) join(e.publishes);
    }
    void number_signals(UnionFind& parts) {
        const auto count = static_cast<std::size_t>(net_.signals.count());
        out_.task_of_signal.assign(count, kNoSignal);
        out_.local_of_signal.assign(count, kNoSignal);
        for (int s = 0; s < net_.signals.count(); ++s) {
            if (!net_.signals.made(s)) continue;
            const int task = at(out_.task_of_node, parts.find(net_.nodes() + s));
            std::vector<int>& signals = at(out_.tasks, task).signals;
            at(out_.task_of_signal, s) = task;
            at(out_.local_of_signal, s) = static_cast<int>(signals.size());
            signals.push_back(s);
        }
    }
    template <class E>
    void make_signals_local(E& e) {
        const auto make_local = [&](auto& signals) {
            for (int& s : signals) s = s == kNoSignal ? kNoSignal : at(out_.local_of_signal, s);
        };
        if constexpr (requires { e.reads; }) make_local(e.reads);
        if constexpr (requires { e.publishes; }) make_local(e.publishes);
    }
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
        for (Task& t : out_.tasks) t.reactances.resize(t.nodes.size());
    }
    int local(int node) { return node == kGround ? kGround : at(out_.local_of_node, node); }
    template <std::size_t N>
    std::array<int, N> local(std::array<int, N> nodes) {
        for (int& i : nodes) i = local(i);
        return nodes;
    }
    /// Returns the task of these nodes; null if all are ground.
    template <std::size_t N>
    Task* owner(const std::array<int, N>& nodes) {
        const auto it = std::find_if(nodes.begin(), nodes.end(), [](int i) { return i != kGround; });
        return it == nodes.end() ? nullptr : &at(out_.tasks, at(out_.task_of_node, *it));
    }
    void share_out() {
        for_each_list([&](auto list) {
            for (auto e : net_.*list) {
                Task* const task = owner(e.node);
                if (task == nullptr) continue;
                e.node = local(e.node);
                make_signals_local(e);
                (task->*list).push_back(std::move(e));
            }
        });
        for (Block e : net_.blocks) {
            Task& task = at(out_.tasks, at(out_.task_of_signal, e.publishes[0]));
            make_signals_local(e);
            task.blocks.push_back(std::move(e));
        }
        merge_reactives();
        for (std::size_t i = 0; i < net_.lines.size(); ++i) {
            std::array<int, 2> ends{};
            for (std::size_t k = 0; k < 2; ++k) {
                const auto& nodes = net_.lines[i].end[k];
                ends[k] = at(out_.task_of_node, nodes[0]);
                owner(nodes)->ends.push_back({local(nodes), static_cast<int>(i), static_cast<int>(k), net_.lines[i]});
            }
            out_.task_of_line.push_back(ends);
        }
    }
    /// Sorts by terminals, so that equal tasks list their elements in the same order and share batches without gathers.
    void order_elements() {
        const auto by_node = [](auto& list) {
            std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
        };
        for (Task& t : out_.tasks) {
            for_each_kind([&](auto list) {
                if constexpr (kTerminals<ElementOf<decltype(t.*list)>> == 2) by_node(t.*list);
            });
            order_blocks(t.blocks);
            by_node(t.piecewise);
            by_node(t.ends);
        }
    }
    void merge_reactives() {
        std::vector<Parallel> floating(out_.tasks.size());
        for (const Reactive& e : net_.reactives) {
            Task& task = *owner(e.node);
            auto [p, q] = local(e.node);
            double i0 = e.i0;
            if (p < q) {  // ground last, otherwise the higher number first: one key per pair
                std::swap(p, q);
                i0 = -i0;
            }
            if (q == kGround) {
                NodeReactance& node = at(task.reactances, p);
                (e.capacitive ? node.capacitive : node.inductive) += e.g;
                node.i0 += i0;
                continue;
            }
            Branch& b = floating[static_cast<std::size_t>(&task - out_.tasks.data())][{e.capacitive, p, q}];
            b.node = {p, q};
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

bool Task::carries_current() const {
    return std::any_of(reactances.begin(), reactances.end(), [](const NodeReactance& r) { return r.i0 != 0; }) ||
           std::any_of(branches.begin(), branches.end(), [](const Branch& b) { return b.i0 != 0; }) ||
           std::any_of(piecewise.begin(), piecewise.end(), [](const Piecewise& e) { return e.x0 != 0; });
}

}  // namespace emt
