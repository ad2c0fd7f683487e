#include "case/checks.hpp"

#include <cmath>
#include <map>
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
                     "is in a loop of blocks whose outputs depend on their inputs at the same instant: " + listed(loop) +
                         "; put an integrator or a lag into it");
}

void check_signals(const Network& net, Diagnostics& problems) {
    std::set<std::string> machines, idle;
    for (const SynchronousMachine& m : net.machines) machines.insert(m.name);
    const auto lacks_machine = [&](const std::string& reader, const std::string& signal) {
        const auto it = net.machine_of.find(reader);
        return it != net.machine_of.end() && !machines.contains(it->second) && signal.starts_with(it->second + ".");
    };
    for (const Signals::Signal& s : net.signals.all()) {
        std::vector<std::string> readers;
        for (const std::string& reader : s.readers)
            if (!s.makers.empty() || !lacks_machine(reader, s.name))
                readers.push_back(reader);
            else if (idle.insert(reader).second)
                problems.add("element '" + reader + "'", "unknown-reference", "'machine' names '" + net.machine_of.at(reader) + "', but there is no such machine");
        if (s.makers.empty() && !readers.empty())
            problems.add("signal '" + s.name + "'", "unknown-signal",
                         "is read by " + listed(readers) + ", but is neither a block nor a measurement of another element");
        if (s.makers.size() > 1) problems.add("signal '" + s.name + "'", "duplicate-signal", "is made by " + listed(s.makers));
    }
}

/// Reports machines at one bus that hold different angles.
void check_held_angles(const Network& net, Diagnostics& problems) {
    constexpr double kSame = 1e-12;  // turns; allows rounding of angles that differ by whole turns
    std::map<Nodes3, const SynchronousMachine*> at_bus;
    for (const SynchronousMachine& m : net.machines) {
        if (!m.dispatch.holds_angle) continue;
        const SynchronousMachine& first = *at_bus.emplace(m.node, &m).first->second;
        if (std::abs(std::remainder(m.dispatch.angle_turns - first.dispatch.angle_turns, 1)) > kSame)
            problems.add("machine '" + m.name + "'", "contradiction",
                         "holds another angle than '" + first.name + "' at the same bus: give both the same 'angle'");
    }
}

/// Sources of one signal must ask for the same value at a steady start.
void check_driven_sources(const Network& net, Diagnostics& problems) {
    if (!net.steady_start) return;
    std::map<int, double> value;
    std::set<int> reported;
    for (const DrivenSource& e : net.driven_sources) {
        const auto [it, fresh] = value.emplace(e.reads[0], e.at_start(net.frequency_hz));
        if (!fresh && it->second != e.at_start(net.frequency_hz) && reported.insert(e.reads[0]).second)
            problems.add("signal '" + net.signals.all()[static_cast<std::size_t>(e.reads[0])].name + "'", "contradiction",
                         "drives a source of the shape sine, which starts at 1, and one of the shape constant, which starts at 0: give them two signals");
    }
}

/// Reports islands in which every machine has a given power: nothing determines their angle.
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
                             "belongs to an island without a reference angle: add a source, or a machine with 'angle' and without 'p'");
}

}  // namespace

void check_network(const Network& net, Diagnostics& problems) {
    check_signals(net, problems);
    check_loops(net, problems);
    if (net.nodes() == 0) problems.add("elements", "empty-case", "there is nothing to solve");
    if (!problems.empty()) return;
    const Decomposition parts = decompose(net);
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
    check_held_angles(net, problems);
    check_driven_sources(net, problems);
}

}  // namespace emt
