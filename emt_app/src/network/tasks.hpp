// Division of a network into tasks: the parts that only lines connect.
//
// A line delays every wave by at least one step, so the nodal equations of its two ends do not meet within a step and
// each part can be solved by itself (Dommel 1969). In each task, parallel inductances, capacitances and conductances
// are merged, since only their sum matters to the node voltages.
#pragma once
#include <array>
#include <vector>

#include "network/network.hpp"

namespace emt {

/// One end of a line inside a task.
struct LineEnd {
    int line, end;
    std::array<int, 3> node;
};

/// The primitives of one task, in local node numbers (kGround for the reference) and in an order that depends on the
/// case alone, so that results do not depend on where the task runs.
struct Task {
    std::vector<int> nodes;                 // global number of each local node
    std::vector<double> inductive;          // merged Δt/2L to ground, S, per node
    std::vector<double> capacitive;         // merged 2C/Δt to ground, S, per node
    std::vector<double> inductive_i0;       // A, per node
    std::vector<Conductance> conductances;
    std::vector<Branch> branches;           // series RL and RC, and merged L and C between two nodes
    std::vector<SeriesRlc> rlcs;
    std::vector<Coupled3> coupled;
    std::vector<Transformer3> transformers;
    std::vector<Piecewise> piecewise;
    std::vector<Switch> switches;
    std::vector<Meter> meters;
    std::vector<LineEnd> ends;
    int island = 0;                         // tasks joined by lines share an island

    [[nodiscard]] int size() const { return static_cast<int>(nodes.size()); }
};

struct Decomposition {
    std::vector<Task> tasks;
    std::vector<int> task_of_node, local_of_node;
    std::vector<std::array<int, 2>> task_of_line;  // of each end
    int islands = 0;
};

[[nodiscard]] Decomposition decompose(const Network& net);

/// Segment k of an odd piecewise-linear curve: i = offset + slope·x for low ≤ x ≤ high; k < 0 mirrors -k.
struct Segment {
    double low, high, slope, offset;
};
[[nodiscard]] Segment segment(const Piecewise& curve, int k);
/// The segment that holds x.
[[nodiscard]] int segment_at(const Piecewise& curve, double x);
/// x = history + gain·u: 1 for a resistor, Δt/2 for an inductor's flux.
[[nodiscard]] double piecewise_gain(const Piecewise& curve, double dt_s);

/// Calls add(i, j, g) for every entry of the conductance matrix of a task; i, j are local and never ground.
/// `closed` holds the state of each switch, `slope` the conductance of each piecewise element.
template <class Add>
void stamp(const Task& task, const std::vector<Line>& lines, const std::vector<char>& closed,
           const std::vector<double>& slope, Add&& add) {
    const auto pair = [&](int p, int q, double g) {
        if (p != kGround) add(p, p, g);
        if (q != kGround) add(q, q, g);
        if (p != kGround && q != kGround) {
            add(p, q, -g);
            add(q, p, -g);
        }
    };
    for (int i = 0; i < task.size(); ++i) {
        const auto k = static_cast<std::size_t>(i);
        add(i, i, task.inductive[k] + task.capacitive[k]);
    }
    for (const Conductance& c : task.conductances) pair(c.p, c.q, c.g);
    for (const Branch& b : task.branches) pair(b.p, b.q, b.g);
    for (const SeriesRlc& b : task.rlcs) pair(b.p, b.q, b.g);
    for (std::size_t k = 0; k < task.switches.size(); ++k)
        pair(task.switches[k].p, task.switches[k].q, closed[k] != 0 ? task.switches[k].g_on : task.switches[k].g_off);
    for (std::size_t k = 0; k < task.piecewise.size(); ++k) pair(task.piecewise[k].p, task.piecewise[k].q, slope[k]);
    const auto block = [&](const std::array<int, 3>& rows, const std::array<int, 3>& columns, const Mat3& g, double sign) {
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j)
                if (rows[i] != kGround && columns[j] != kGround) add(rows[i], columns[j], sign * g[i * 3 + j]);
    };
    for (const Coupled3& c : task.coupled) {
        block(c.p, c.p, c.g, 1);
        block(c.q, c.q, c.g, 1);
        block(c.p, c.q, c.g, -1);
        block(c.q, c.p, c.g, -1);
    }
    for (const Transformer3& t : task.transformers)
        for (std::size_t k = 0; k < 3; ++k) {
            const std::array<int, 4> node{t.p[k], t.p[(k + 1) % 3], t.s[k], t.s[(k + 1) % 3]};
            const std::array<double, 4> weight{1, -t.m1, -t.ratio, t.ratio * t.m2};
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 4; ++j)
                    if (node[i] != kGround && node[j] != kGround) add(node[i], node[j], t.g * weight[i] * weight[j]);
        }
    for (const LineEnd& e : task.ends) {
        const Line& line = lines[static_cast<std::size_t>(e.line)];
        const double y0 = line.mode[0].y(), y1 = line.mode[1].y();
        const double s = (y0 + 2 * y1) / 3, m = (y0 - y1) / 3;
        block(e.node, e.node, {s, m, m, m, s, m, m, m, s}, 1);
    }
}

}  // namespace emt
