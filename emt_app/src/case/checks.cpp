#include "case/checks.hpp"

#include <set>

#include "network/block_order.hpp"
#include "network/tasks.hpp"
#include "solver/nodal_matrix.hpp"

namespace emt {
namespace {

void check_islands(const Network& net, const Decomposition& parts, Diagnostics& problems) {
    std::set<int> alive;
    for (const Task& t : parts.tasks) {
        for_each_source(t, [&](const Waveform& w) {
            if (w.shape != Waveform::Shape::none) alive.insert(t.island);
        });
        if (!t.machines.empty()) alive.insert(t.island);
        for (const int node : t.nodes)
            if (net.initial_voltage.contains(node)) alive.insert(t.island);
        if (t.carries_current()) alive.insert(t.island);
    }
    std::set<int> reported;
    for (const Task& t : parts.tasks)
        if (!alive.contains(t.island) && reported.insert(t.island).second)
            problems.add("node '" + net.node_names[static_cast<std::size_t>(t.nodes.front())] + "'", "disconnected-island",
                         "belongs to an island without any source or initial condition: connect it or remove it");
}

std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "'" : ", '") + n + "'";
    return out;
}

void check_loops(const Network& net, Diagnostics& problems) {
    std::vector<Block> blocks = net.blocks;
    if (const std::vector<std::string> loop = order_blocks(blocks); !loop.empty())
        problems.add("block '" + loop.front() + "'", "algebraic-loop",
                     "is in a loop in which every block's output depends on its input at the same instant: " + listed(loop) +
                         "; put an integrator or a lag into it");
}

void check_signals(const Signals& signals, Diagnostics& problems) {
    for (const Signals::Signal& s : signals.all()) {
        if (s.makers.empty() && !s.readers.empty())
            problems.add("signal '" + s.name + "'", "unknown-signal",
                         "is read by " + listed(s.readers) + ", but it is neither the name of a block nor what another element measures");
        if (s.makers.size() > 1) problems.add("signal '" + s.name + "'", "duplicate-signal", "is made by " + listed(s.makers));
    }
}

/// Machines of given power leave the angle of their island open.
void check_angles(const Network& net, const Decomposition& parts, Diagnostics& problems) {
    std::set<int> held, reported;
    for (const Task& t : parts.tasks) {
        for_each_source(t, [&](const Waveform& w) {
            if (w.steady(net.frequency_hz)) held.insert(t.island);
        });
        for (const SynchronousMachine& m : t.machines)
            if (m.dispatch.holds_angle) held.insert(t.island);
    }
    for (const Task& t : parts.tasks)
        for (const SynchronousMachine& m : t.machines)
            if (!held.contains(t.island) && reported.insert(t.island).second)
                problems.add("machine '" + m.name + "'", "no-angle",
                             "belongs to an island in which no source and no machine with 'angle' and without 'p' says what angle the voltage has");
}

}  // namespace

void check_network(const Network& net, Diagnostics& problems) {
    check_signals(net.signals, problems);
    check_loops(net, problems);
    if (!problems.empty()) return;
    const Decomposition parts = decompose(net);
    if (parts.tasks.empty()) problems.add("elements", "empty-case", "there is nothing to solve");
    for (const Task& task : parts.tasks) {
        const int bad = singular_node(task, net.dt_s);
        if (bad >= 0)
            problems.add("node '" + net.node_names[static_cast<std::size_t>(task.nodes[static_cast<std::size_t>(bad)])] + "'",
                         "singular-node",
                         "has no path to ground through R, L, C, source or line (with the switches as at the start): "
                         "add one, for instance its stray capacitance");
    }
    check_islands(net, parts, problems);
    check_angles(net, parts, problems);
}

}  // namespace emt
