// What happens at an instant inside a step: breakers at a current zero, diodes and thyristors move by themselves; operations of
// switches and starts of sources are told when.
//
// After a step of a task, voltages and currents are taken to be linear in it, and the first instant t_n + x·Δt at which a pole
// moves is looked for. The step is then taken again from there (A. M. Gole et al., "Interpolation algorithms for the simulation
// of power electronics in EMT programs", IEEE Trans. Power Delivery 12(2), 1997, as in PSCAD): the task's state at that instant by
// interpolation, two half steps of backward Euler for the discontinuity (Martí and Lin 1989), which lead to t_n + (x + 1)·Δt, and the
// state at t_{n+1} on the line through the two. Poles may move several times in a step. Each interpolation has an error of order Δt², so the
// whole keeps order two. Waves of lines between two steps are interpolated, too, and after t_{n+1} extrapolated. Gates that are signals
// are read once, as controls have made them at t_n for the whole step.
#include <algorithm>
#include <cmath>
#include <utility>

#include "parallel/engine.hpp"

namespace emt {
namespace {

constexpr int kMoves = 12;      // of a task in a step
constexpr double kNever = 2;    // later than this step

}  // namespace

Engine::Watch Engine::make_watch(const Batch& batch) const {
    Watch watch;
    for (int l = 0; l < batch.lanes(); ++l) {
        const std::vector<Switch>& switches = batch.lane(l).task->switches;
        for (std::size_t p = 0; p < switches.size(); ++p)
            if (const Switch& s = switches[p]; s.valve != Valve::none || s.at_current_zero) {
                watch.poles.push_back({l, static_cast<int>(p), false, &s, s.reads[0] == kNoSignal ? nullptr : &batch.signal(l, s.reads[0])});
                watch.valves = watch.valves || s.valve != Valve::none;
            }
    }
    if (!watch.poles.empty()) make_room(watch, batch);
    return watch;
}

void Engine::make_room(Watch& watch, const Batch& batch) {
    if (watch.before.size() > 0) return;
    for (AlignedDoubles* copy : {&watch.before, &watch.from, &watch.half, &watch.until, &watch.work}) *copy = AlignedDoubles(batch.state());
    watch.at_work = batch.view_of(watch.work);
}

bool Engine::watching(std::size_t index) const {
    const Watch& watch = watches_[index];
    return watch.valves || !watch.due.empty() || std::any_of(watch.poles.begin(), watch.poles.end(), [](const Pole& p) { return p.armed; });
}

void Engine::keep(std::size_t index) {
    if (watching(index)) batches_[index].copy_written(batches_[index].state(), watches_[index].before);
}

void Engine::move_poles(std::size_t index, std::uint64_t step) {
    if (!watching(index)) return;
    Watch& watch = watches_[index];
    unsigned lanes = 0;
    for (const Pole& p : watch.poles) lanes |= p.still ? 0 : 1U << p.lane;
    for (const Due& d : watch.due) lanes |= 1U << d.lane;
    for (int l = 0; l < batches_[index].lanes(); ++l)
        if ((lanes >> l & 1U) != 0) move_poles(watch, batches_[index], l, step, (restart_lanes(index) >> l & 1U) != 0);
    watch.due.clear();
}

void Engine::read_gates(std::size_t index) {
    for (Pole& p : watches_[index].poles) {
        if (p.signal == nullptr) continue;
        p.gate = *p.signal;
        const bool closed = batches_[index].lane(p.lane).topology.closed[static_cast<std::size_t>(p.pole)] != 0;
        p.still = closed ? p.device->valve == Valve::pair && p.gate <= 0 : p.gate > 1;
        if (p.still) p.entry = 0;
    }
}

double Engine::passed(const Batch& batch, const Pole& pole, const double* v) const {
    const Switch& s = *pole.device;
    const auto at = [&](int node) { return node == kGround ? 0.0 : cell(v, node, pole.lane); };
    const double u = at(s.node[0]) - at(s.node[1]);
    return batch.lane(pole.lane).topology.closed[static_cast<std::size_t>(pole.pole)] != 0 ? s.g_on * u : u;
}

/// The first instant not before x at which the gate is on.
double Engine::gate_from(const Pole& pole, double x, std::uint64_t step) const {
    if (pole.signal != nullptr) return std::max(x, pole.gate);
    return std::max(x, pole.device->firing.on_from(instant(step, x)) / net_.dt_s - static_cast<double>(step));
}

double Engine::instant_of(const Batch& batch, const Pole& pole, double x, double now, std::uint64_t step) const {
    const Switch& s = *pole.device;
    const double from = pole.before;
    const double crossing = from == now ? x : x + (1 - x) * (from / (from - now));
    if (batch.lane(pole.lane).topology.closed[static_cast<std::size_t>(pole.pole)] != 0) {
        if (s.valve == Valve::none) return pole.armed && !frozen_ && !(from * now > 0) && crossing >= pole.from ? crossing : kNever;
        if (s.valve == Valve::pair) return from != 0 && !(from * now > 0) && gate_from(pole, crossing, step) > crossing ? crossing : kNever;
        return now < 0 ? (from > 0 ? crossing : x) : kNever;
    }
    if (s.valve == Valve::diode) return now > 0 ? (from < 0 ? crossing : x) : kNever;
    if (s.valve == Valve::none) return kNever;
    // Fired at `fired`; a thyristor whose voltage becomes positive later closes then, if its gate is still on.
    const double fired = gate_from(pole, x, step);
    if (fired > 1) return kNever;
    if (s.gentle()) {
        if (from * now < 0) return crossing < fired ? kNever : crossing;
        const bool lowest = std::abs(from) <= std::abs(pole.earlier) && std::abs(from) < std::abs(now);
        return x == 0 && fired == 0 && lowest && std::abs(from) < s.gentle_below ? x : kNever;
    }
    if (s.valve == Valve::pair) return fired;
    if (from + (now - from) * ((fired - x) / (1 - x)) > 0) return fired;
    const double again = now > 0 ? gate_from(pole, crossing, step) : kNever;
    return again <= 1 ? again : kNever;
}

/// Waves at t_n + x·Δt in the lane's working copy: on the line through those of both steps.
void Engine::set_waves(Watch& watch, const Batch& batch, int lane, double x) {
    const double *now = batch.view().ends.history, *old = batch.rows_in(watch.before, now);
    double* const to = watch.at_work.ends.history;
    for (int row = 0; row < 3 * batch.view().ends.at.count; ++row)
        cell(to, row, lane) = cell(old, row, lane) + x * (cell(now, row, lane) - cell(old, row, lane));
}

void Engine::move_poles(Watch& watch, Batch& batch, int lane, std::uint64_t step, bool jumped) {
    const auto poles = std::equal_range(watch.poles.begin(), watch.poles.end(), Pole{lane, 0, false},
                                        [](const Pole& a, const Pole& b) { return a.lane < b.lane; });
    const auto stand = [&](const AlignedDoubles& state) {
        for (auto p = poles.first; p != poles.second; ++p)
            if (!p->still) p->before = passed(batch, *p, batch.rows_in(state, batch.view().v));
    };
    // One that waits for its current zero has met it if the current jumps across.
    const auto jump = [&](const AlignedDoubles& state) {
        for (auto p = poles.first; p != poles.second; ++p) {
            if (p->still) continue;
            const double now = passed(batch, *p, batch.rows_in(state, batch.view().v));
            p->before = p->armed && p->before * now < 0 ? 0 : now;
        }
    };
    // After a jump at the beginning of the step the state is not that of the step before: half_steps() has left it here.
    const AlignedDoubles *from = jumped ? &watch.from : &watch.before, *until = &batch.state();
    double x = 0;
    int moves = 0;
    stand(watch.before);
    for (auto p = poles.first; p != poles.second; ++p)
        if (!p->still) p->earlier = std::exchange(p->entry, p->before);
    if (jumped) jump(watch.from);
    for (;; ++moves) {
        Pole* mover = nullptr;
        double at = kNever;
        auto due = watch.due.end();
        for (auto d = watch.due.begin(); d != watch.due.end(); ++d)
            if (d->lane == lane && d->part < at) {
                due = d;
                at = std::max(d->part, x);
            }
        const double* const v = batch.rows_in(*until, batch.view().v);
        for (auto p = poles.first; p != poles.second; ++p)
            if (const double t = p->still ? kNever : instant_of(batch, *p, x, passed(batch, *p, v), step); t < at) {
                mover = &*p;
                at = t;
            }
        if (mover != nullptr) due = watch.due.end();
        if (mover == nullptr && due == watch.due.end()) break;
        if (moves == kMoves) {
            ++unsettled_;
            break;
        }
        if (moves == 0) watch.work.assign(batch.state());
        batch.between(lane, *from, *until, x < 1 ? (at - x) / (1 - x) : 1, watch.work);
        stand(watch.work);
        x = at;
        const BatchView& work = watch.at_work;
        const int pole = mover != nullptr ? mover->pole : due->pole;
        if (pole >= 0) {  // not a source that starts
            char& closed = batch.lane(lane).topology.closed[static_cast<std::size_t>(pole)];
            closed = (mover != nullptr ? closed == 0 : due->close) ? 1 : 0;
            refactor(batch, lane, work, pole, instant(step, x));
        }
        if (mover != nullptr) {
            mover->armed = false;
            mover->entry = 0;
        } else {
            watch.due.erase(due);
        }
        set_waves(watch, batch, lane, x + 0.5);
        half_step(batch, work, 1U << lane, {instant(step, x), instant(step, x + 0.5), pole >= 0});
        batch.copy_written(watch.work, watch.half);
        set_waves(watch, batch, lane, x + 1);
        half_step(batch, work, 1U << lane, {instant(step, x + 0.5), instant(step, x + 1)});
        // Voltages have jumped: just after the instant they are on the line through the two half steps.
        batch.between(lane, watch.half, watch.work, -1, watch.from);
        batch.between(lane, watch.half, watch.work, 1 - 2 * x, watch.until);
        from = &watch.from;
        until = &watch.until;
        jump(watch.from);
        if (mover != nullptr) mover->before = 0;
    }
    for (auto p = poles.first; p != poles.second; ++p) p->from = 0;
    if (moves == 0) return;
    batch.between(lane, watch.until, watch.until, 0, watch.work);
    set_waves(watch, batch, lane, 1);
    const BatchView &work = watch.at_work, &now = batch.view();
    // What the end of the step adds to: the digest and the last waves.
    const auto* digest = reinterpret_cast<const unsigned long long*>(batch.rows_in(watch.before, reinterpret_cast<const double*>(now.digest)));
    for (int i = 0; i < now.n; ++i) work.digest[i * kLanes + lane] = digest[i * kLanes + lane];
    const double* previous = batch.rows_in(watch.before, now.ends.previous);
    for (int row = 0; row < 3 * work.ends.at.count; ++row) cell(work.ends.previous, row, lane) = cell(previous, row, lane);
    finish_batch(batch, work, kernels().finish(work) & 1U << lane, step + 1);
    // Signals stay what they are at t_n.
    for (int s = 0; s < static_cast<int>(batch.lane(lane).task->signals.size()); ++s) {
        const double& signal = batch.signal(lane, s);
        watch.work.data()[&signal - batch.state().data()] = signal;
    }
    batch.take_lane(lane, watch.work);
}

}  // namespace emt
