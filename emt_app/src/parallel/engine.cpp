// The order of one step from t_n to t_{n+1}:
//   1. switches that operate at t_n change; the tasks they are in take this step as two half steps of backward Euler
//      (critical damping adjustment, Martí and Lin 1989), which needs a copy of their state;
//   2. waves of step n go into the rings, those of other ranks are awaited, histories of step n+1 come out;
//   3. all batches advance; those with lines to other ranks come first, so that their waves travel meanwhile.
#include "parallel/engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/elementary.hpp"
#include "base/fnv1a.hpp"
#include "base/smpi.hpp"
#include "network/phasor.hpp"
#include "parallel/batching.hpp"

namespace emt {
namespace {

/// All ranks need the same initial state; one solves for it.
std::vector<Complex> initial_phasors(MPI_Comm comm, const Network& net) {
    if (!net.steady_start) return {};
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::vector<Complex> v(static_cast<std::size_t>(net.nodes()) + net.machines.size());
    if (rank == 0) v = solve_phasors(net);
    // As pairs of doubles: MPI_CXX_DOUBLE_COMPLEX may be null in a library built without C++.
    MPI_Bcast(v.data(), 2 * static_cast<int>(v.size()), MPI_DOUBLE, 0, comm);
    return v;
}

}  // namespace

std::string at_time(double t) {
    char text[48];
    std::snprintf(text, sizeof text, "t = %.9g s", t);
    return text;
}

Engine::Engine(MPI_Comm comm, const Network& net, const Decomposition& parts, const Mapping& mapping, const EngineOptions& options)
    : net_(net), parts_(parts), options_(options), place_of_task_(parts.tasks.size()) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const auto rank_of = [&](int t) { return mapping.rank_of_task[static_cast<std::size_t>(t)]; };
    std::set<int> boundary;
    for (const auto& [a, b] : parts.task_of_line)
        if (rank_of(a) != rank_of(b)) boundary.insert({a, b});
    std::vector<int> mine;
    for (int t = 0; t < static_cast<int>(parts.tasks.size()); ++t)
        if (rank_of(t) == rank) mine.push_back(t);
    std::vector<std::vector<int>> groups = Batching(net, parts).groups(std::move(mine));
    const auto on_boundary = [&](const std::vector<int>& g) {
        return std::any_of(g.begin(), g.end(), [&](int t) { return boundary.contains(t); });
    };
    boundary_ = static_cast<std::size_t>(std::stable_partition(groups.begin(), groups.end(), on_boundary) - groups.begin());
    const std::vector<Complex> phasors = initial_phasors(comm, net);
    batches_.reserve(groups.size());
    for (const std::vector<int>& g : groups) {
        for (std::size_t l = 0; l < g.size(); ++l)
            place_of_task_[static_cast<std::size_t>(g[l])] = {static_cast<int>(batches_.size()), static_cast<int>(l)};
        if (!options.injected_us.empty())
            for (const int t : g) (batches_.size() < boundary_ ? boundary_s_ : inner_s_) += 1e-6 * options.injected_us[static_cast<std::size_t>(t)];
        batches_.emplace_back(net, parts, g, phasors);
        watches_.push_back(make_watch(batches_.back()));
    }
    lines_ = std::make_unique<LineStore>(net, parts, batches_, mapping.rank_of_task, phasors);
    make_calendar();
    if (options.resume)
        options.resume(*this);
    else
        meet_fronts(0, batches_.size(), 0);
    // After all that may throw: to take the exchange down is collective, and other ranks would not do it.
    exchange_ = std::make_unique<Exchange>(comm, lines_->cut_lines(), options.exchange, options.transport, options.message, step_);
    exchange_->post(step_);
}

double Engine::instant(std::uint64_t step, double part) const { return (static_cast<double>(step) + part) * net_.dt_s; }

StepClock Engine::clock(double t_old, double t_new) const {
    const CosSin<double> old = cos_sin(net_.frequency_hz * t_old), now = cos_sin(net_.frequency_hz * t_new);
    return {old.cos, old.sin, now.cos, now.sin, t_old};
}

StepClock Engine::prologue(std::uint64_t step) const {
    return clock(instant(step), instant(step + 1));
}

unsigned Engine::restart_lanes(std::size_t batch) const {
    for (const Restart& r : restarts_)
        if (r.batch == static_cast<int>(batch)) return r.lanes;
    return 0;
}

void Engine::complete(Batch& batch, const BatchView& view, unsigned outside, unsigned skip) {
    for (int l = 0; l < batch.lanes(); ++l)
        if (((outside & ~skip) >> l & 1U) != 0 && !batch.settle(l, view, kernels())) ++unsettled_;
}

void Engine::finish_batch(const Batch& batch, const BatchView& view, unsigned bad, std::uint64_t step) const {
    if (bad == 0) return;
    for (int l = 0; l < batch.lanes(); ++l) {
        if ((bad >> l & 1U) == 0) continue;
        const Task& task = *batch.lane(l).task;
        for (int i = 0; i < task.size(); ++i)
            if (const double v = view.v[static_cast<std::ptrdiff_t>(i) * kLanes + l]; !std::isfinite(v))
                throw SimulationError("the voltage of node '" + net_.node_names[static_cast<std::size_t>(task.nodes[static_cast<std::size_t>(i)])] +
                                      "' (task " + std::to_string(batch.lane(l).id) + ") is " + std::to_string(v) + " at step " +
                                      std::to_string(step) + ", " + at_time(instant(step)));
    }
}

void Engine::solve(Batch& batch, const BatchView& view, const StepClock& clock, int kind, unsigned skip, StopWatch* watch) {
    const Kernels& k = kernels();
    if (watch == nullptr)
        k.assemble(view, clock, kind);
    else
        k.assemble_in_parts(view, clock, *watch);
    if (batch.sparse()) {
        for (int l = 0; l < batch.lanes(); ++l)
            if ((skip >> l & 1U) == 0) batch.solve_sparse(l, view, watch);
    } else {
        k.solve(view);
        if (watch != nullptr) watch->mark(StepPart::solve);
        k.compensate(view, kAllLanes);
        if (watch != nullptr && view.machines.at.count > 0) watch->mark(StepPart::machines);
    }
    complete(batch, view, k.outside(view), skip);
    if (watch != nullptr && view.piecewise.at.count > 0) watch->mark(StepPart::piecewise);
}

void Engine::advance(std::size_t index, const StepClock& clock, std::uint64_t step, StopWatch* watch) {
    // Lanes that restart are computed from the copy; what happens to them here is overwritten.
    const unsigned skip = restart_lanes(index);
    Batch& batch = batches_[index];
    const BatchView& view = batch.view();
    const Kernels& k = kernels();
    batch.before_step(view, {instant(step), instant(step + 1)});
    if (watch != nullptr && batch.sources_of_their_own() > 0) watch->mark(StepPart::sources);
    unsigned bad = 0;
    if (watch == nullptr && skip == 0 && !batch.sparse()) {
        // As solve() and finish(), in one pass over the batch where no element leaves its segment.
        bad = k.advance(view, clock);
        if (bad >> kLanes != 0) {
            complete(batch, view, bad >> kLanes, 0);
            bad = k.finish(view);
        }
    } else {
        solve(batch, view, clock, kTrapezoidal, skip, watch);
        bad = watch == nullptr ? k.finish(view) : k.finish_in_parts(view, *watch);
    }
    finish_batch(batch, view, bad & ~skip, step + 1);
    read_gates(index);  // as they are at t_n, not half a step later
    if (skip != 0)
        for (Restart& r : restarts_)
            if (r.batch == static_cast<int>(index)) half_steps(r);
    move_poles(index, step);
    if (watch != nullptr && !watches_[index].poles.empty()) watch->mark(StepPart::instants);
}

void Engine::half_step(Batch& batch, const BatchView& view, unsigned lanes, const StepTimes& times) {
    batch.before_step(view, times);
    solve(batch, view, clock(times.old_s, times.new_s), kHalfEuler, ~lanes, nullptr);
}

void Engine::half_steps(Restart& r) {
    Batch& batch = batches_[static_cast<std::size_t>(r.batch)];
    const BatchView view = batch.view_of(r.state);
    const std::span<double> now = batch.line_history();
    Watch& watch = watches_[static_cast<std::size_t>(r.batch)];
    const bool watched = watching(static_cast<std::size_t>(r.batch));
    for (int part = 0; part < 2; ++part) {
        for (std::size_t i = 0; i < now.size(); ++i)  // waves at the half step by interpolation
            view.ends.history[i] = part == 0 ? 0.5 * (view.ends.history[i] + now[i]) : now[i];
        half_step(batch, view, r.lanes, {instant(step_, 0.5 * part), instant(step_, 0.5 * part + 0.5)});
        if (part == 0 && watched) batch.copy_written(r.state, watch.half);
    }
    // Just after the jump voltages are on the line through the two half steps.
    for (int l = 0; l < batch.lanes() && watched; ++l)
        if ((r.lanes >> l & 1U) != 0) batch.between(l, watch.half, r.state, -1, watch.from);
    finish_batch(batch, view, kernels().finish(view) & r.lanes, step_ + 1);
    for (int l = 0; l < batch.lanes(); ++l)
        if ((r.lanes >> l & 1U) != 0) batch.take_lane(l, r.state);
}

void Engine::step() {
    if (!frozen_ && next_operation_ < calendar_.size() && calendar_[next_operation_].step <= step_) {
        apply_events();
        for (Restart& r : restarts_) r.state = AlignedDoubles(batches_[static_cast<std::size_t>(r.batch)].state());
    }
    for (std::size_t i = 0; i < batches_.size(); ++i) keep(i);
    const auto& local = lines_->local();
    const auto& cut = lines_->cut();
    const auto now = static_cast<unsigned>(step_);
    const StepClock c = prologue(step_);
    if (!cut.empty()) exchange_->expect();
    kernels().lines_both(local.data(), static_cast<int>(local.size()), now);
    if (!cut.empty()) {
        kernels().lines_store(cut.data(), static_cast<int>(cut.size()), now);
        exchange_->await(step_ + 1);
        kernels().lines_load(cut.data(), static_cast<int>(cut.size()), now);
    }
    for (std::size_t i = 0; i < boundary_; ++i) advance(i, c, step_, nullptr);
    if (boundary_s_ > 0) pass_s(boundary_s_);
    if (boundary_ > 0) {
        meet_fronts(0, boundary_, step_ + 1);
        exchange_->post(step_ + 1);
    }
    for (std::size_t i = boundary_; i < batches_.size(); ++i) advance(i, c, step_, nullptr);
    if (inner_s_ > 0) pass_s(inner_s_);
    meet_fronts(boundary_, batches_.size(), step_ + 1);
    restarted_.clear();
    for (const Restart& r : restarts_) restarted_.emplace_back(r.batch, r.lanes);
    restarts_.clear();
    ++step_;
}

Engine::Seat Engine::seat(int task) const {
    const Place p = place_of_task_[static_cast<std::size_t>(task)];
    return {p.batch < 0 ? nullptr : &batches_[static_cast<std::size_t>(p.batch)], p.lane};
}

bool Engine::restarted(int task) const {
    const Place p = place_of_task_[static_cast<std::size_t>(task)];
    return std::any_of(restarted_.begin(), restarted_.end(), [&](const auto& r) { return r.first == p.batch && (r.second >> p.lane & 1U) != 0; });
}

double Engine::voltage(int node) const {
    const Place p = place_of_task_[static_cast<std::size_t>(parts_.task_of_node[static_cast<std::size_t>(node)])];
    const auto row = static_cast<std::ptrdiff_t>(parts_.local_of_node[static_cast<std::size_t>(node)]);
    return batches_[static_cast<std::size_t>(p.batch)].view().v[row * kLanes + p.lane];
}

double Engine::signal(int signal) const {
    const Place p = place_of_task_[static_cast<std::size_t>(parts_.task_of_signal[static_cast<std::size_t>(signal)])];
    return batches_[static_cast<std::size_t>(p.batch)].signal(p.lane, parts_.local_of_signal[static_cast<std::size_t>(signal)]);
}

bool Engine::owns_signal(int signal) const {
    return place_of_task_[static_cast<std::size_t>(parts_.task_of_signal[static_cast<std::size_t>(signal)])].batch >= 0;
}

bool Engine::owns(int node) const {
    return place_of_task_[static_cast<std::size_t>(parts_.task_of_node[static_cast<std::size_t>(node)])].batch >= 0;
}

std::vector<std::pair<int, std::uint64_t>> Engine::digests() const {
    std::vector<std::pair<int, std::uint64_t>> out;
    for (const Batch& b : batches_)
        for (int l = 0; l < b.lanes(); ++l) {
            std::uint64_t hash = fnv1a(nullptr, 0);
            for (int i = 0; i < b.lane(l).task->size(); ++i) {
                const std::uint64_t node = b.view().digest[static_cast<std::ptrdiff_t>(i) * kLanes + l];
                hash = fnv1a(&node, sizeof node, hash);
            }
            out.emplace_back(b.lane(l).id, hash);
        }
    return out;
}

std::size_t Engine::poles_that_move_by_themselves() const {
    std::size_t sum = 0;
    for (const Watch& w : watches_) sum += w.poles.size();
    return sum;
}

std::size_t Engine::bytes_written() const {
    std::size_t sum = lines_->bytes_written();
    for (const Batch& b : batches_) sum += b.bytes_written();
    return sum;
}

std::size_t Engine::bytes_touched() const {
    std::size_t sum = lines_->bytes_touched();
    for (const Batch& b : batches_) sum += b.bytes_touched();
    return sum;
}

}  // namespace emt
