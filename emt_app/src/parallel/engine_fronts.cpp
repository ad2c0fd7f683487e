// What a jump at t_n sends into lines.
//
// A switch that operates and a source that starts at t_n leave the voltages of t_n as they were: the jump is just after. At the other
// end of a line nobody knows of it. There the waves are samples of a function between which the trapezoidal rule takes a straight
// line: with the value before the jump at t_n and that after it at t_{n+1} it would come half a step late, an error of order one. So
// the wave that is sent for t_n is the mean of those before and after the jump. The integral of such samples is exact, reflections of
// them are such means again, and what is linear keeps order two. An arrester without a capacitance beside it meets the mean of the
// waves, which gives not quite the mean of its currents.
//
// With an operation or a start at t_n + x·Δt the wave has the right integral if the sample at t_n has ½ - x of the jump, or that at t_{n+1}
// x - ½ less than all of it. The first is done here, the second after the step (engine_instants.cpp); so no sample goes beyond what is before
// and after. What a pole that moves by itself in the first half of a step sends comes up to half a step early: at t_n nobody knows of it.
//
// What is just after t_n is found by two half steps of backward Euler on a copy, with the waves that arrive at t_n: the voltages are on
// the line through both.
#include <map>
#include <tuple>

#include "parallel/engine.hpp"

namespace emt {

void Engine::meet_fronts(std::size_t first, std::size_t last, std::uint64_t step) {
    if (frozen_ || next_operation_ == calendar_.size() || calendar_[next_operation_].step > step) return;
    std::map<std::pair<std::size_t, double>, std::vector<Operation>> together;  // by batch and instant
    for (std::size_t i = next_operation_; i < calendar_.size() && calendar_[i].step == step; ++i) {
        const Operation& o = calendar_[i];
        const auto batch = static_cast<std::size_t>(place_of_task_[static_cast<std::size_t>(o.task)].batch);
        if (o.part < 0.5 && batch >= first && batch < last && batches_[batch].view().ends.at.count > 0) together[{batch, o.part}].push_back(o);
    }
    for (const auto& [where, operations] : together) meet_fronts(where.first, operations, step);
}

void Engine::meet_fronts(std::size_t index, const std::vector<Operation>& operations, std::uint64_t step) {
    Batch& batch = batches_[index];
    AlignedDoubles trial(batch.state());
    const BatchView view = batch.view_of(trial), &now = batch.view();
    std::vector<std::pair<Topology, int>> topologies;
    for (int l = 0; l < batch.lanes(); ++l) topologies.emplace_back(batch.lane(l).topology, batch.lane(l).updates);
    unsigned lanes = 0;
    for (const Operation& o : operations) {
        const int l = place_of_task_[static_cast<std::size_t>(o.task)].lane;
        LaneTask& lane = batch.lane(l);
        if (lane.task->ends.empty()) continue;
        if (o.pole >= 0) {
            char& closed = lane.topology.closed[static_cast<std::size_t>(o.pole)];
            if ((closed != 0) == o.close || (!o.close && lane.task->switches[static_cast<std::size_t>(o.pole)].at_current_zero)) continue;
            closed = o.close ? 1 : 0;
            refactor(batch, l, view, o.pole, instant(step, o.part));
        }
        lanes |= 1U << l;
    }
    if (lanes == 0) return;
    const long unsettled = unsettled_;
    const double part = operations.front().part;
    half_step(batch, view, lanes, {instant(step, part), instant(step, part + 0.5)});
    const AlignedDoubles half(trial);
    half_step(batch, view, lanes, {instant(step, part + 0.5), instant(step, part + 1)});
    unsettled_ = unsettled;
    for (int l = 0; l < batch.lanes(); ++l) {
        LaneTask& lane = batch.lane(l);
        std::tie(lane.topology, lane.updates) = std::move(topologies[static_cast<std::size_t>(l)]);
        if ((lanes >> l & 1U) == 0) continue;
        if (lane.sparse != nullptr) batch.refactor(l, view);  // its factors are not part of the copy
        batch.between(l, half, trial, -1, trial);
        for (int s = 0; s < static_cast<int>(lane.task->ends.size()); ++s)
            for (int m = 0; m < 3; ++m) {
                // b = v + (Z - R/4)·i of the mode, with the history of t_n; added to what finish() has left, for x = 0 it becomes the mean.
                const LineEnd& end = lane.task->ends[static_cast<std::size_t>(s)];
                const double jump = end.wave_of_voltages({instant(step), l, view.v}, now.ends, s, m) -
                                    end.wave_of_voltages({instant(step), l, now.v}, now.ends, s, m);
                const double w = cell(now.ends.fraction, 2 * s + (m == 0 ? 0 : 1), l);
                cell(now.ends.wave, 3 * s + m, l) += (0.5 - part) * (1 - w) * jump;
                cell(now.ends.previous, 3 * s + m, l) += (0.5 - part) * jump;
            }
    }
}

}  // namespace emt
