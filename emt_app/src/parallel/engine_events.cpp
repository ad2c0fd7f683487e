// What interrupts the ordinary steps: switches that operate and sources that start.
#include <algorithm>
#include <cmath>

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

/// First step that is not earlier than t; the tolerance absorbs the rounding of decimal times.
std::uint64_t step_at(double t, double dt) { return static_cast<std::uint64_t>(std::ceil(t / dt - 1e-6)); }

}  // namespace

void Engine::make_calendar() {
    const auto add = [&](double t, int task, int pole, bool close) { calendar_.push_back({step_at(t, net_.dt_s), task, pole, close}); };
    for (int t = 0; t < static_cast<int>(parts_.tasks.size()); ++t) {
        if (place_of_task_[static_cast<std::size_t>(t)].batch < 0) continue;
        const Task& task = parts_.tasks[static_cast<std::size_t>(t)];
        for (int p = 0; p < static_cast<int>(task.switches.size()); ++p)
            for (const auto& [time, close] : task.switches[static_cast<std::size_t>(p)].operations) add(time, t, p, close);
        for_each_source(task, [&](const Waveform& w) {
            if (w.shape != Waveform::Shape::none && w.start_s >= 0) add(w.start_s, t, -1, false);
        });
        if (net_.steady_start ? fires_at_start(task) : jumps_at_start(net_, task)) add(0, t, -1, false);
    }
    std::stable_sort(calendar_.begin(), calendar_.end(), [](const Operation& a, const Operation& b) { return a.step < b.step; });
}

void Engine::refactor(Batch& batch, int lane, const BatchView& view, int pole) const {
    try {
        batch.refactor(lane, view);
    } catch (const SingularNode& e) {
        const int node = batch.lane(lane).task->nodes[static_cast<std::size_t>(e.local_node)];
        throw SimulationError("node '" + net_.node_names[static_cast<std::size_t>(node)] + "' lost its path to ground at " +
                              at_time(instant(step_)) +
                              ": '" + batch.lane(lane).task->switches[static_cast<std::size_t>(pole)].name + "' opened; give it an 'r_off' or the node a capacitor");
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
    refactor(batch, place.lane, batch.view(), pole);
    mark_restart(place);
}

void Engine::apply_events() {
    for (; next_operation_ < calendar_.size() && calendar_[next_operation_].step <= step_; ++next_operation_) {
        const Operation& o = calendar_[next_operation_];
        const Place place = place_of_task_[static_cast<std::size_t>(o.task)];
        if (o.pole < 0) {
            mark_restart(place);
            continue;
        }
        const Switch& s = parts_.tasks[static_cast<std::size_t>(o.task)].switches[static_cast<std::size_t>(o.pole)];
        const bool waits = !o.close && s.at_current_zero;
        for (Pole& p : watches_[static_cast<std::size_t>(place.batch)].poles)
            if (p.lane == place.lane && p.pole == o.pole) p.armed = waits;
        if (!waits) set_switch(place, o.pole, o.close);
    }
}

}  // namespace emt
