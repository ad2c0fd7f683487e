// Division of a network into tasks: parts that only lines connect.
//
// A line delays every wave by at least one step, so its two ends have independent nodal equations within a step, and
// each part can be solved alone (Dommel 1969). In each task, parallel inductances, capacitances and conductances are
// merged, since only their sum matters to the node voltages.
//
// Signals stay within a task: the maker of a signal, all its readers, and their networks are in one task. Signals
// without any node are in the task of the first node.
#pragma once
#include <array>
#include <vector>

#include "network/network.hpp"

namespace emt {

/// The primitives of one task, in local numbers of nodes (kGround for the reference) and signals. Their order depends
/// on the case alone, so that results do not depend on the task's rank. Reactances between two nodes are branches.
struct Task : Primitives {
    std::vector<int> nodes;                 // global number of each local node
    std::vector<int> signals;               // global number of each local signal
    std::vector<NodeReactance> reactances;  // per node
    std::vector<LineEnd> ends;
    int island = 0;                         // tasks joined by lines share an island

    [[nodiscard]] int size() const { return static_cast<int>(nodes.size()); }
    /// Returns true if an inductance carries a current at t = 0.
    [[nodiscard]] bool carries_current() const;
};

struct Decomposition {
    std::vector<Task> tasks;
    std::vector<int> task_of_node, local_of_node;
    std::vector<int> task_of_signal, local_of_signal;  // both kNoSignal if no element makes it
    std::vector<std::array<int, 2>> task_of_line;  // of each end
    int islands = 0;
};

[[nodiscard]] Decomposition decompose(const Network& net);

template <class Add>
class ConductanceEntries : public Admittances<ConductanceEntries<Add>> {
public:
    explicit ConductanceEntries(Add add_) : add(std::move(add_)) {}
    Add add;
};

/// Calls add(i, j, g) for every entry of the conductance matrix of a task; i, j are local and never ground.
/// `closed` holds the state of each switch, `slope` the conductance of each piecewise element, S.
template <class Add>
void stamp(const Task& task, const std::vector<char>& closed, const std::vector<double>& slope, Add add) {
    ConductanceEntries<Add> y(std::move(add));
    for (int i = 0; i < task.size(); ++i) {
        const NodeReactance& at = task.reactances[static_cast<std::size_t>(i)];
        y.entry(i, i, at.inductive + at.capacitive);
    }
    for (const Conductance& c : task.conductances) c.stamp(y);
    in_matrix_order(task, [&](const auto& list) {
        for (std::size_t k = 0; k < list.size(); ++k) {
            using Element = ElementOf<decltype(list)>;
            if constexpr (std::is_same_v<Element, Switch>)
                list[k].stamp(y, closed[k] != 0);
            else if constexpr (std::is_same_v<Element, Piecewise>)
                list[k].stamp(y, slope[k]);
            else
                list[k].stamp(y);
        }
    });
    for (const LineEnd& e : task.ends) e.stamp(y);
}

}  // namespace emt
