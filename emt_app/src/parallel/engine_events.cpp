// What interrupts the ordinary steps: switches that operate and sources that start.
#include <algorithm>
#include <cmath>
#include <set>

#include "parallel/engine.hpp"

namespace emt {
namespace {

/// Whether a start from rest is a discontinuity for this task: something is charged or some source is already on.
bool jumps_at_start(const Network& net, const Task& task) {
    constexpr double kZero = 1e-12;  // of the amplitude: a sine that starts at its zero crossing
    for (const int node : task.nodes)
        if (net.initial_voltage.contains(node)) return true;
    if (task.carries_current()) return true;
    bool jumps = false;
    for_each_source(task, [&](const Waveform& w) { jumps = jumps || (w.start_s < 0 && std::abs(w.at(0)) > kZero * std::abs(w.amplitude)); });
    return jumps;
}

/// Whether a steady start is one: reactors that are fired take their current from its fundamental, the rest of the network has this.
bool fires_at_start(const Task& task) {
    return std::any_of(task.switches.begin(), task.switches.end(), [](const Switch& s) { return s.conduction.partial(); });
}

constexpr double kAtStep = 1e-6;  // of a step: absorbs the rounding of decimal times

/// First step that is not earlier than t.
std::uint64_t step_at(double t, double dt) {
    constexpr double kNever = 0x1p62;
    return static_cast<std::uint64_t>(std::min(kNever, std::ceil(t / dt - kAtStep)));
}

}  // namespace

void Engine::make_calendar() {
    const auto add = [&](double t, int task, int pole, bool close) {
        const std::uint64_t step = step_at(t, net_.dt_s);
        const double late = static_cast<double>(step) - t / net_.dt_s;
        const bool inside = late > kAtStep;
        calendar_.push_back({inside ? step - 1 : step, task, pole, close, inside ? 1 - late : 0});
    };
    for (int t = 0; t < static_cast<int>(parts_.tasks.size()); ++t) {
        if (place_of_task_[static_cast<std::size_t>(t)].batch < 0) continue;
        const Task& task = parts_.tasks[static_cast<std::size_t>(t)];
        for (int p = 0; p < static_cast<int>(task.switches.size()); ++p)
            for (const auto& [time, close] : task.switches[static_cast<std::size_t>(p)].operations) add(time, t, p, close);
        std::set<double> starts;
        for_each_source(task, [&](const Waveform& w) {
            if (w.shape != Waveform::Shape::none && w.start_s >= 0 && starts.insert(w.start_s).second) add(w.start_s, t, -1, false);
        });
        if (net_.steady_start ? fires_at_start(task) : jumps_at_start(net_, task)) add(0, t, -1, false);
    }
    std::stable_sort(calendar_.begin(), calendar_.end(), [](const Operation& a, const Operation& b) { return std::pair(a.step, a.part) < std::pair(b.step, b.part); });
}

void Engine::refactor(Batch& batch, int lane, const BatchView& view, int pole, double t_s) const {
    try {
        batch.refactor(lane, view);
    } catch (const SingularNode& e) {
        const int node = batch.lane(lane).task->nodes[static_cast<std::size_t>(e.local_node)];
        throw SimulationError("node '" + net_.node_names[static_cast<std::size_t>(node)] + "' lost its path to ground at " +
                              at_time(t_s) + ": '" + batch.lane(lane).task->switches[static_cast<std::size_t>(pole)].name + "' opened; give it an 'r_off' or the node a capacitor");
    }
}

void Engine::mark_restart(Place place) {
    auto it = std::find_if(restarts_.begin(), restarts_.end(), [&](const Restart& r) { return r.batch == place.batch; });
    if (it == restarts_.end()) it = restarts_.insert(restarts_.end(), {place.batch, 0, AlignedDoubles()});
    it->lanes |= 1U << place.lane;
}

void Engine::set_switch(Place place, int pole, bool closed) {
    Batch& batch = batches_[static_cast<std::size_t>(place.batch)];
    char& state = batch.lane(place.lane).topology.closed[static_cast<std::size_t>(pole)];
    if ((state != 0) == closed) return;
    state = closed ? 1 : 0;
    refactor(batch, place.lane, batch.view(), pole, instant(step_));
    mark_restart(place);
}

void Engine::apply_events() {
    for (; next_operation_ < calendar_.size() && calendar_[next_operation_].step <= step_; ++next_operation_) {
        const Operation& o = calendar_[next_operation_];
        const Place place = place_of_task_[static_cast<std::size_t>(o.task)];
        Watch& watch = watches_[static_cast<std::size_t>(place.batch)];
        if (o.pole >= 0) {
            const Switch& s = parts_.tasks[static_cast<std::size_t>(o.task)].switches[static_cast<std::size_t>(o.pole)];
            const bool waits = !o.close && s.at_current_zero;
            for (Pole& p : watch.poles)
                if (p.lane == place.lane && p.pole == o.pole) {
                    p.armed = waits;
                    p.from = o.part;
                }
            if (waits) continue;
        }
        // Beside valves also at t_n: what the jump forces has to move with it (engine_instants.cpp).
        const bool valves = std::any_of(watch.poles.begin(), watch.poles.end(),
                                        [&](const Pole& p) { return p.lane == place.lane && p.device->valve != Valve::none; });
        if (o.part > 0 || valves)
            watch.due.push_back({place.lane, o.pole, o.close, o.part});
        else if (o.pole < 0)
            mark_restart(place);
        else
            set_switch(place, o.pole, o.close);
    }
    for (std::size_t i = 0; i < watches_.size(); ++i)
        if (!watches_[i].due.empty()) make_room(watches_[i], batches_[i]);
}

}  // namespace emt
