// What a study needs to go on from an instant, task by task and line by line: the same bytes on any ranks.
#include <algorithm>

#include "base/archive.hpp"
#include "parallel/engine.hpp"

namespace emt {

bool Engine::visit_task(int task, Archive& archive) {
    const Place place = place_of_task_[static_cast<std::size_t>(task)];
    if (place.batch < 0) return false;
    batches_[static_cast<std::size_t>(place.batch)].visit_lane(place.lane, archive);
    for (Pole& p : watches_[static_cast<std::size_t>(place.batch)].poles) {
        if (p.lane != place.lane) continue;
        for (bool* flag : {&p.armed, &p.still}) archive(*flag);
        archive.finite(p.before);
        archive(p.gate);  // a signal, which may be infinite
        for (double* value : {&p.entry, &p.earlier, &p.from}) archive.finite(*value);
    }
    bool again = restarted(task);
    archive(again);
    if (archive.reads() && again) restarted_.emplace_back(place.batch, 1U << place.lane);
    return true;
}

bool Engine::visit_line(int line, int end, Archive& archive) {
    const LineJob* job = lines_->job_of(line);
    // What an end has sent is known where it is, and wanted where either is.
    if (job == nullptr || (!archive.reads() && job->wave[end] == nullptr)) return false;
    const auto past = [&](double* ring, unsigned mask, unsigned delay, std::size_t modes) {
        for (unsigned back = 1; back < delay; ++back)
            for (std::size_t m = 0; m < modes; ++m)
                archive(ring[(static_cast<std::size_t>((static_cast<unsigned>(step_) - back) & mask) * 2 + static_cast<std::size_t>(end)) * modes + m]);
    };
    past(job->ring0, job->mask0, job->delay0, 1);
    past(job->ring1, job->mask1, job->delay1, 2);
    return true;
}

void Engine::resume_at(std::uint64_t step, long unsettled) {
    step_ = step;
    unsettled_ = unsettled;
    const auto pending = [&](const Operation& o) { return o.step < step; };
    next_operation_ = static_cast<std::size_t>(std::find_if_not(calendar_.begin(), calendar_.end(), pending) - calendar_.begin());
}

}  // namespace emt
