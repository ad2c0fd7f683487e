#include "parallel/outputs.hpp"

#include <algorithm>

#include "base/archive.hpp"

namespace emt {
namespace {

/// Returns the task of a primitive, and its nodes there. A primitive between ground and ground has no task: -1.
template <std::size_t N>
std::pair<int, std::array<int, N>> home(const Decomposition& parts, const std::array<int, N>& nodes) {
    int task = -1;
    std::array<int, N> local = nodes;
    for (int& i : local)
        if (i != kGround) {
            task = parts.task_of_node[static_cast<std::size_t>(i)];
            i = parts.local_of_node[static_cast<std::size_t>(i)];
        }
    return {task, local};
}

/// Returns the place of a primitive in its task's list: primitives with the same nodes keep the order of the network.
template <class List>
int slot_of(const std::vector<List>& of_network, std::size_t index, const std::vector<List>& of_task, const decltype(List::node)& local) {
    auto before = std::count_if(of_network.begin(), of_network.begin() + static_cast<std::ptrdiff_t>(index),
                                [&](const List& e) { return e.node == of_network[index].node; });
    for (std::size_t s = 0; s < of_task.size(); ++s)
        if (of_task[s].node == local && before-- == 0) return static_cast<int>(s);
    return -1;
}

}  // namespace

std::pair<int, Outputs::Read> Outputs::find(const Carried& c) const {
    // Returns the task of a primitive whose list has rows in a batch, and the reader of its value.
    const auto primitive = [&]<class E>(std::vector<E> Primitives::*list, auto rows, auto sample) -> std::pair<int, Read> {
        const std::vector<E>& all = net_.*list;
        const auto [task, local] = home(parts_, all[c.index].node);
        if (task < 0) return {task, {}};
        const Task& of = parts_.tasks[static_cast<std::size_t>(task)];
        const int slot = slot_of(all, c.index, of.*list, local);
        const E& element = (of.*list)[static_cast<std::size_t>(slot)];
        return {task, [&element, rows, slot, sample](const Batch& b, const LaneNow& now) { return sample(element, b.view().*rows, now, slot); }};
    };
    const auto current = [branch = c.branch](const auto& e, const auto& rows, const LaneNow& now, int slot) {
        return Sample{e.carried(now, rows, slot, branch), 0, 0};
    };
    const auto two_terminals = [](const auto& e, const auto& rows, const LaneNow& now, int slot) {
        return Sample{e.carried(now, rows, slot, 0), 0, now.across(e.node)};
    };
    using By = Carried::By;
    switch (c.by) {
        case By::branch: return primitive(&Primitives::branches, &BatchView::branches, two_terminals);
        case By::rlc: return primitive(&Primitives::rlcs, &BatchView::rlcs, two_terminals);
        case By::coupled: return primitive(&Primitives::coupled, &BatchView::coupled, current);
        case By::driven: return primitive(&Primitives::driven_sources, &BatchView::driven_sources, current);
        case By::transformer: return primitive(&Primitives::transformers, &BatchView::transformers, current);
        case By::machine: return primitive(&Primitives::machines, &BatchView::machines, current);
        case By::piecewise:
            return primitive(&Primitives::piecewise, &BatchView::piecewise,
                             [](const Piecewise& e, const PiecewiseRows& rows, const LaneNow& now, int slot) {
                                 return Sample{e.carried(now, rows, slot, 0), e.argument(now, rows, slot), now.across(e.node)};
                             });
        case By::conductance: {
            const auto [task, local] = home(parts_, net_.conductances[c.index].node);
            const Conductance here{local, net_.conductances[c.index].g};
            return {task, [here](const Batch&, const LaneNow& now) { return Sample{here.carried(now), 0, now.across(here.node)}; }};
        }
        case By::pole: {
            const auto [task, local] = home(parts_, net_.switches[c.index].node);
            if (task < 0) return {task, {}};
            const Task& of = parts_.tasks[static_cast<std::size_t>(task)];
            const auto slot = static_cast<std::size_t>(slot_of(net_.switches, c.index, of.switches, local));
            return {task, [&pole = of.switches[slot], slot](const Batch& b, const LaneNow& now) {
                        const bool closed = b.lane(now.lane).topology.closed[slot] != 0;
                        return Sample{pole.carried(now, closed), closed ? 1.0 : 0.0, now.across(pole.node)};
                    }};
        }
        case By::line: {
            const auto end = static_cast<std::size_t>(c.branch / 3);
            const auto [task, local] = home(parts_, net_.lines[c.index].end[end]);
            const std::vector<LineEnd>& ends = parts_.tasks[static_cast<std::size_t>(task)].ends;
            const auto it = std::find_if(ends.begin(), ends.end(), [&](const LineEnd& e) {
                return e.line == static_cast<int>(c.index) && e.end == static_cast<int>(end);
            });
            return {task, [&here = *it, slot = static_cast<int>(it - ends.begin()), phase = c.branch % 3](const Batch& b, const LaneNow& now) {
                        return Sample{here.carried(now, b.view().ends, slot, phase), 0, 0};
                    }};
        }
        case By::reactance: break;
    }
    // Parallel reactances form one reactance of their task. Each takes a share in proportion to its admittance, but
    // keeps its own initial inductor current.
    const Reactive& own = net_.reactives[c.index];
    const auto [task, local] = home(parts_, own.node);
    if (task < 0) return {task, {}};
    const Task& of = parts_.tasks[static_cast<std::size_t>(task)];
    const bool capacitive = own.capacitive;
    const bool turned = local[0] < local[1];  // merged ones begin at the higher number
    const Nodes2 node = turned ? Nodes2{local[1], local[0]} : local;
    const double sign = turned ? -1 : 1;
    if (node[1] == kGround) {
        const NodeReactance& merged = of.reactances[static_cast<std::size_t>(node[0])];
        const double share = own.g / (capacitive ? merged.capacitive : merged.inductive), i0 = capacitive ? 0 : sign * own.i0 - share * merged.i0;
        return {task, [=, local = local, &merged](const Batch& b, const LaneNow& now) {
                    return Sample{sign * (share * merged.carried(now, b.view().reactances, node[0], capacitive) + i0), 0, now.across(local)};
                }};
    }
    const auto it = std::find_if(of.branches.rbegin(), of.branches.rend(), [&](const Branch& b) {  // the last one of these nodes
        return b.node == node && (b.c.a < 0) == capacitive;
    });
    const Branch& merged = *it;
    const double share = own.g / merged.g, i0 = sign * own.i0 - share * merged.i0;
    return {task, [=, local = local, &merged, slot = static_cast<int>(of.branches.rend() - it) - 1](const Batch& b, const LaneNow& now) {
                return Sample{sign * (share * merged.carried(now, b.view().branches, slot, 0) + i0), 0, now.across(local)};
            }};
}

Outputs::Outputs(const Network& net, const Decomposition& parts, const Engine& engine, const std::vector<int>& channels) : net_(net), parts_(parts) {
    for (const int number : channels) {
        const Channel& channel = net.channels.all()[static_cast<std::size_t>(number)];
        Output out{channel.quantity, -1, {}, {}, 0};
        for (const Carried& c : channel.sum) {
            auto [task, read] = find(c);
            if (task < 0 || engine.seat(task).batch == nullptr) continue;
            out.task = task;
            out.sum.emplace_back(c.weight, std::move(read));
        }
        all_.push_back(std::move(out));
    }
}

bool Outputs::visit(std::size_t k, Archive& archive) {
    Output& out = all_[k];
    if (out.quantity != Channel::Quantity::energy || out.sum.empty()) return false;
    for (double* value : {&out.value, &out.last.current, &out.last.argument, &out.last.voltage}) archive.finite(*value);
    if (archive.reads()) begun_ = true;
    return true;
}

void Outputs::observe(const Engine& engine) {
    for (Output& out : all_) {
        if (out.sum.empty()) continue;
        const auto [batch, lane] = engine.seat(out.task);
        const LaneNow now{engine.time(), lane, batch->view().v};
        Sample sample;
        for (const auto& [weight, read] : out.sum) {
            const Sample part = read(*batch, now);
            sample.current += weight * part.current;
            sample.argument += weight * part.argument;
            sample.voltage = part.voltage;
        }
        if (out.quantity == Channel::Quantity::energy) {
            // In a step, the trapezoidal rule takes the product of the means of u and i. In a step that began with a
            // jump, both are constant (backward Euler).
            const Sample& old = engine.restarted(out.task) ? sample : out.last;
            if (begun_) out.value += net_.dt_s * (sample.voltage + old.voltage) / 2 * (sample.current + old.current) / 2;
        } else {
            out.value = out.quantity == Channel::Quantity::current ? sample.current : out.quantity == Channel::Quantity::voltage ? sample.voltage : sample.argument;
        }
        out.last = sample;
    }
    begun_ = true;
}

}  // namespace emt
