#include "parallel/batching.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "solver/batch.hpp"

namespace emt {
namespace {

// Least-squares fit to 315 batches of the Hydro-Québec-like network on one AVX-512 core (r.m.s. error 13 ns of 152).
constexpr double kBatchNs = 20, kInverseNs = 0.25, kNodeNs = 0.4, kGatherNs = 6;
constexpr double kSignalNs = 3;  // per gathered signal; a signal has one terminal, an element two or more
// A slot of blocks, and each of its parts.
constexpr double kBlockNs = 2.5, kPartNs = 2;
// A multiplication in a solution with sparse factors, and in a change of these. Fit to 76 runs of public cases with 72 to 9093 nodes
// as one task (r.m.s. error 15 %).
constexpr double kSolutionNs = 1.7, kChangeNs = 0.53;
// Rings of past waves, per end of a line: the difference to the measured step of the whole network.
constexpr double kRingNs = 3.8;
// A valve, if half of the valves in the reference network's compensators fire: steps repeated from an instant inside
// them.
constexpr double kValveNs = 30;

/// Sorting order of the kinds: this order suits the reference network, then the table's order. No result depends on it.
template <class T>
constexpr int kSorting = std::is_same_v<T, Coupled3> ? 0 : std::is_same_v<T, Piecewise> ? 1 : std::is_same_v<T, LineEnd> ? 2 : std::is_same_v<T, Transformer3> ? 3 : 4;

struct Kind {
    double ns;          // per element and step
    int sorting;
    std::size_t place;  // among the kinds when tasks are sorted
};

/// Returns the kinds in the order of for_each_batched().
const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all = [] {
        std::vector<Kind> out;
        for_each_batched([&](auto list, auto) {
            using Element = ElementOf<decltype(std::declval<Task>().*list)>;
            out.push_back({Element::kStepNs, kSorting<Element>, 0});
        });
        for (Kind& k : out)
            for (const Kind& other : out) k.place += other.sorting < k.sorting || (other.sorting == k.sorting && &other < &k) ? 1U : 0U;
        return out;
    }();
    return all;
}

/// Counts the places, and those in which the tasks differ.
template <class List>
std::pair<std::size_t, std::size_t> count_gathers(const std::vector<const List*>& lanes) {
    std::vector<typename List::value_type> seen;
    std::vector<bool> gathered;
    for (const List* mine : lanes)
        for (std::size_t i = 0; i < mine->size(); ++i) {
            if (i == seen.size()) {
                seen.push_back((*mine)[i]);
                gathered.push_back(false);
            }
            gathered[i] = gathered[i] || seen[i] != (*mine)[i];
        }
    return {seen.size(), static_cast<std::size_t>(std::count(gathered.begin(), gathered.end(), true))};
}

}  // namespace

// Puts similar tasks together, so that a batch has few empty places and hardly any gathers.
Batching::Shape Batching::shape_of(const Task& task, double dt_s) {
    Shape s{task.blocks.size(), task.size(), std::vector<std::size_t>(kinds().size()), std::vector<std::vector<Nodes6>>(kinds().size()), task.ends.size(),
            std::vector<std::vector<int>>(kinds().size()), {}, {}, 0, {}};
    if (task.size() > kDenseNodes) {
        SparseFactors factors(task);
        factors.factorise(dt_s, initial_topology(task));
        s.factors = factors.work();
    }
    s.valves = static_cast<std::size_t>(std::count_if(task.switches.begin(), task.switches.end(), [](const Switch& p) { return p.valve != Valve::none; }));
    for (const Block& b : task.blocks) {
        s.parts.push_back(b.parts());
        s.inputs.insert(s.inputs.end(), b.reads.begin(), b.reads.end());
    }
    auto kind = kinds().begin();
    for_each_batched([&](auto list, auto) {
        static_assert(kTerminals<ElementOf<decltype(task.*list)>> <= std::tuple_size_v<Nodes6>);
        const std::size_t k = (kind++)->place;
        for (const auto& e : task.*list) {
            std::copy(e.node.begin(), e.node.end(), s.elements[k].emplace_back().begin());
            if constexpr (requires { e.reads; }) s.reads[k].insert(s.reads[k].end(), e.reads.begin(), e.reads.end());
        }
        s.count[k] = (task.*list).size();
    });
    return s;
}

Batching::Batching(const Network& net, const Decomposition& parts) : place_(parts.tasks.size()) {
    for (const Task& t : parts.tasks) shape_.push_back(shape_of(t, net.dt_s));
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

/// All lanes wait for the one with the most elements. Elements and signals whose places differ between lanes are
/// gathered.
double Batching::batch_us(const std::vector<int>& group) const {
    double nodes = 0, ns = kBatchNs;
    for (const int t : group) {
        const Shape& shape = shape_[static_cast<std::size_t>(t)];
        nodes = std::max(nodes, static_cast<double>(shape.nodes));
        ns += kRingNs * static_cast<double>(shape.line_ends) + kValveNs * static_cast<double>(shape.valves) +
              kSolutionNs * static_cast<double>(shape.factors.solution) + kChangeNs * static_cast<double>(shape.factors.change);
    }
    for (const auto& [element_ns, sorting, k] : kinds()) {
        std::vector<const std::vector<Nodes6>*> terminals;
        std::vector<const std::vector<int>*> signals;
        for (const int t : group) {
            terminals.push_back(&shape_[static_cast<std::size_t>(t)].elements[k]);
            signals.push_back(&shape_[static_cast<std::size_t>(t)].reads[k]);
        }
        const auto [slots, gathers] = count_gathers(terminals);
        ns += element_ns * static_cast<double>(slots) + kGatherNs * static_cast<double>(gathers) +
              kSignalNs * static_cast<double>(count_gathers(signals).second);
    }
    std::vector<unsigned> parts;
    std::vector<const std::vector<int>*> inputs;
    for (const int t : group) {
        const Shape& shape = shape_[static_cast<std::size_t>(t)];
        parts.resize(std::max(parts.size(), shape.parts.size()));
        for (std::size_t s = 0; s < shape.parts.size(); ++s) parts[s] |= shape.parts[s];
        inputs.push_back(&shape.inputs);
    }
    for (const unsigned p : parts) ns += kBlockNs + kPartNs * std::popcount(p);
    ns += kSignalNs * static_cast<double>(count_gathers(inputs).second);
    if (nodes <= kDenseNodes) ns += kInverseNs * nodes * nodes;
    return 1e-3 * (ns + kNodeNs * nodes);
}

double Batching::cost_us(std::vector<int> tasks) const {
    double sum = 0;
    for (const std::vector<int>& group : groups(std::move(tasks))) sum += batch_us(group);
    return sum;
}

double Batching::task_cost_us(int task) const { return batch_us(std::vector<int>(kLanes, task)) / kLanes; }

}  // namespace emt
