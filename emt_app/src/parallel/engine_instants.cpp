// What happens at an instant inside a step: breakers at a current zero, diodes and thyristors move by themselves; operations of
// switches and starts of sources are told when.
//
// After a step of a task, voltages and currents are taken to be linear in it, and the first instant t_n + x·Δt at which a pole
// moves is looked for. The step is then taken again from there (A. M. Gole et al., "Interpolation algorithms for the simulation
// of power electronics in EMT programs", IEEE Trans. Power Delivery 12(2), 1997, as in PSCAD): the task's state at that instant by
// interpolation, two half steps of backward Euler for the discontinuity (Martí and Lin 1989), which lead to t_n + (x + 1)·Δt, and the
// state at t_{n+1} on the line through the two. Where the first holds an impulse, such as the voltage that takes an inductance's current
// away, it is the line through the second and a third. Poles may move several times in a step. Each interpolation has an error of order Δt², so the
// whole keeps order two. Waves of lines between two steps are interpolated, too, and after t_{n+1} extrapolated. Gates that are signals
// are read once, as controls have made them at t_n for the whole step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "parallel/engine.hpp"

namespace emt {
namespace {

constexpr int kMoves = 12;      // instants of a task in a step at which poles move by themselves
constexpr double kTogether = 1e-9, kRounding = 1e-9;
constexpr double kImpulse = 0.05;  // of the voltage: a sine of 0.07/Δt has less
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
    for (AlignedDoubles* copy : {&watch.before, &watch.from, &watch.half, &watch.second, &watch.until, &watch.work}) *copy = AlignedDoubles(batch.state());
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

/// Whether a jump at x makes a pole move at x: `before` is what it was just before, `after` what it would be just after.
bool Engine::forced(const Batch& batch, const Pole& pole, double x, double before, double after, std::uint64_t step) const {
    const Valve valve = pole.device->valve;
    if (batch.lane(pole.lane).topology.closed[static_cast<std::size_t>(pole.pole)] != 0) {
        if (valve == Valve::diode || valve == Valve::thyristor) return after < 0;
        return before * after < 0 && (valve == Valve::pair ? gate_from(pole, x, step) > x : pole.armed && !frozen_ && x >= pole.from);
    }
    return after > 0 && (valve == Valve::diode || (valve == Valve::thyristor && gate_from(pole, x, step) <= x));
}

/// Three half steps of the lane's working copy from t_n + x·Δt on; watch.half and watch.second keep the first two.
void Engine::half_steps_from(Watch& watch, Batch& batch, int lane, double x, std::uint64_t step, bool switched) {
    for (int part = 0; part < 3; ++part) {
        const double from = x + 0.5 * part;
        set_waves(watch, batch, lane, from + 0.5);
        half_step(batch, watch.at_work, 1U << lane, {instant(step, from), instant(step, from + 0.5), part == 0 && switched});
        if (part < 2) batch.copy_written(watch.work, part == 0 ? watch.half : watch.second);
    }
}

/// Whether a voltage of the first of three half steps is far from the line through the others: an impulse.
bool Engine::first_has_impulse(const Watch& watch, const Batch& batch, int lane) {
    const double* const v = batch.view().v;
    const double *a = batch.rows_in(watch.half, v), *b = batch.rows_in(watch.second, v), *c = batch.rows_in(watch.work, v);
    for (int i = 0; i < batch.lane(lane).task->size(); ++i) {
        const double first = cell(a, i, lane), second = cell(b, i, lane), third = cell(c, i, lane);
        if (std::abs(first - 2 * second + third) > kImpulse * std::max({std::abs(first), std::abs(second), std::abs(third)})) return true;
    }
    return false;
}

/// Adds `weight` times the waves that voltages make at the ends of the lane's lines.
void Engine::add_fronts(Watch& watch, const Batch& batch, int lane, double weight, const AlignedDoubles& state) {
    const std::vector<LineEnd>& ends = batch.lane(lane).task->ends;
    const LaneNow now{0, lane, batch.rows_in(state, batch.view().v)};
    watch.fronts.resize(3 * ends.size());
    for (std::size_t i = 0; i < watch.fronts.size(); ++i)
        watch.fronts[i] += weight * ends[i / 3].wave_of_voltages(now, batch.view().ends, static_cast<int>(i / 3), static_cast<int>(i % 3));
}

void Engine::move_poles(Watch& watch, Batch& batch, int lane, std::uint64_t step, bool jumped) {
    const auto range = std::equal_range(watch.poles.begin(), watch.poles.end(), Pole{lane, 0, false},
                                        [](const Pole& a, const Pole& b) { return a.lane < b.lane; });
    const std::span<Pole> poles(range.first, range.second);
    const auto in = [&](const Pole& p, const AlignedDoubles& state) { return passed(batch, p, batch.rows_in(state, batch.view().v)); };
    // After a jump at the beginning of the step the state is not that of the step before: half_steps() has left it here.
    const AlignedDoubles *from = jumped ? &watch.from : &watch.before, *until = &batch.state();
    for (Pole& p : poles) {
        if (p.still) continue;
        p.before = in(p, watch.before);
        p.earlier = std::exchange(p.entry, p.before);
        if (!jumped) continue;
        // One that waits for its current zero has met it if the current jumps across: the zero lies at the beginning of the step.
        const double after = in(p, watch.from);
        p.before = forced(batch, p, 0, p.before, after, step) ? std::copysign(std::numeric_limits<double>::min(), p.before) : after;
    }
    double x = 0;
    int moves = 0;
    for (;; ++moves) {
        const auto wants = [&](const Pole& p) { return p.still ? kNever : instant_of(batch, p, x, in(p, *until), step); };
        if (moves == kMoves && std::any_of(poles.begin(), poles.end(), [&](const Pole& p) { return wants(p) < kNever; })) ++unsettled_;
        const auto when = [&](const Pole& p) { return moves >= kMoves ? kNever : wants(p); };
        double at = kNever;
        for (const Due& d : watch.due)
            if (d.lane == lane) at = std::min(at, std::max(d.part, x));
        for (const Pole& p : poles) at = std::min(at, when(p));
        if (at == kNever) break;
        // What moves at the same instant moves together: after the others its current would no longer cross zero.
        std::vector<Pole*> movers;
        for (Pole& p : poles)
            if (when(p) <= at + kTogether) movers.push_back(&p);
        if (moves == 0) watch.work.assign(batch.state());
        const double within = x < 1 ? (at - x) / (1 - x) : 1;
        batch.between(lane, *from, *until, within, watch.work);
        for (Pole& p : poles)
            if (!p.still) p.before = in(p, watch.work);
        const bool sends = at > 0.5 && !batch.lane(lane).task->ends.empty();
        if (sends) add_fronts(watch, batch, lane, at - 0.5, watch.work);
        x = at;
        std::vector<char>& closed = batch.lane(lane).topology.closed;
        int moved = -1;
        for (auto d = watch.due.begin(); d != watch.due.end();) {
            if (d->lane != lane || d->part > at + kTogether) {
                ++d;
                continue;
            }
            if (d->pole >= 0) closed[static_cast<std::size_t>(moved = d->pole)] = d->close ? 1 : 0;  // not a source that starts
            d = watch.due.erase(d);
        }
        for (std::size_t first = 0;;) {
            for (; first < movers.size(); ++first) {
                moved = movers[first]->pole;
                closed[static_cast<std::size_t>(moved)] ^= 1;
            }
            if (moved >= 0) refactor(batch, lane, watch.at_work, moved, instant(step, x));
            half_steps_from(watch, batch, lane, x, step, moved >= 0);
            // What the jump forces moves with it, from the state before.
            if (moves >= kMoves) break;
            for (Pole& p : poles) {
                const double half = in(p, watch.half), after = 2 * half - in(p, watch.second);
                if (!p.still && std::abs(after) > kRounding * std::abs(half) && std::find(movers.begin(), movers.end(), &p) == movers.end() &&
                    forced(batch, p, x, p.before, after, step))
                    movers.push_back(&p);
            }
            if (first == movers.size()) break;
            batch.between(lane, *from, *until, within, watch.work);
        }
        const bool impulse = first_has_impulse(watch, batch, lane);
        const AlignedDoubles &one = impulse ? watch.second : watch.half, &other = impulse ? watch.work : watch.second;
        const double ahead = impulse ? 1 : 0.5;  // of t_n + x·Δt, in steps
        batch.between(lane, one, other, -2 * ahead, watch.from);
        batch.between(lane, one, other, 2 * (1 - x - ahead), watch.until);
        from = &watch.from;
        until = &watch.until;
        for (Pole& p : poles)
            if (!p.still) p.before = in(p, watch.from);
        for (Pole* p : movers) {
            p->armed = false;
            p->entry = 0;
            p->before = 0;
        }
        if (sends) add_fronts(watch, batch, lane, 0.5 - x, watch.from);
    }
    for (Pole& p : poles) p.from = 0;
    if (moves > 0) return_to_grid(watch, batch, lane, step);
}

/// The lane's state at t_{n+1} after its moves, finished like any other.
void Engine::return_to_grid(Watch& watch, Batch& batch, int lane, std::uint64_t step) {
    batch.between(lane, watch.until, watch.until, 0, watch.work);
    set_waves(watch, batch, lane, 1);
    const BatchView &work = watch.at_work, &now = batch.view();
    // What the end of the step adds to: the digest and the last waves.
    const auto* digest = reinterpret_cast<const unsigned long long*>(batch.rows_in(watch.before, reinterpret_cast<const double*>(now.digest)));
    for (int i = 0; i < now.n; ++i) work.digest[i * kLanes + lane] = digest[i * kLanes + lane];
    const double* previous = batch.rows_in(watch.before, now.ends.previous);
    for (int row = 0; row < 3 * work.ends.at.count; ++row) cell(work.ends.previous, row, lane) = cell(previous, row, lane);
    finish_batch(batch, work, kernels().finish(work) & 1U << lane, step + 1);
    // Jumps of the waves in the second half of the step: see engine_fronts.cpp.
    for (std::size_t i = 0; i < watch.fronts.size(); ++i) {
        const int row = static_cast<int>(i), sequence = 2 * (row / 3) + (row % 3 == 0 ? 0 : 1);
        cell(work.ends.wave, row, lane) += (1 - cell(work.ends.fraction, sequence, lane)) * watch.fronts[i];
        cell(work.ends.previous, row, lane) += watch.fronts[i];
    }
    watch.fronts.clear();
    // Signals stay what they are at t_n.
    for (int s = 0; s < static_cast<int>(batch.lane(lane).task->signals.size()); ++s) {
        const double& signal = batch.signal(lane, s);
        watch.work.data()[&signal - batch.state().data()] = signal;
    }
    batch.take_lane(lane, watch.work);
}

}  // namespace emt
