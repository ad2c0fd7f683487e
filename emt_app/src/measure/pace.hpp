// Paces steps by wall time: simulated time equals wall time, as hardware in the loop requires.
//
// Step k of a run that began at T has the wall time from T + (k - 1)·Δt to T + k·Δt. Its lateness is the delay of its
// end after T + k·Δt; a late step is an overrun. The grid never moves: after a long disturbance, steps follow without
// waits, each an overrun, until they have caught up. `episodes` counts such sequences of late steps.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "measure/histogram.hpp"

namespace emt {

class Pace {
public:
    using Clock = std::chrono::steady_clock;

    explicit Pace(double dt_s) : dt_ns_(dt_s * 1e9), start_(Clock::now()) {}

    /// Call after the computation of a step: waits for the step's end.
    void hold() { hold(Clock::now()); }

    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] std::uint64_t overruns() const { return overruns_; }
    [[nodiscard]] std::uint64_t episodes() const { return episodes_; }
    /// Returns the percentile over all steps; a step in time is 0 late.
    [[nodiscard]] double late_p999_us() const { return late_.count() == 0 ? 0 : std::min(Histogram::quantile(late_.bins(), 0.999) * 1e-3, worst_us()); }
    [[nodiscard]] double worst_us() const { return static_cast<double>(late_.max()) * 1e-3; }

protected:
    /// Waits unless `now` is already too late.
    void hold(Clock::time_point now) {
        const Clock::time_point end = start_ + std::chrono::nanoseconds(static_cast<std::int64_t>(dt_ns_ * static_cast<double>(++steps_)));
        const bool late = now > end;
        late_.add(late ? static_cast<std::uint64_t>(std::chrono::nanoseconds(now - end).count()) : 0);
        overruns_ += late ? 1 : 0;
        episodes_ += late && !was_late_ ? 1 : 0;
        was_late_ = late;
        // Waking up takes tens of microseconds, sometimes more: the last part of a wait polls the clock.
        if (end - now > kSleepAbove) std::this_thread::sleep_until(end - kSleepAbove);
        while (!late && Clock::now() < end) {
        }
    }
    [[nodiscard]] Clock::time_point start() const { return start_; }

private:
    static constexpr std::chrono::milliseconds kSleepAbove{1};
    double dt_ns_;
    Clock::time_point start_;
    Histogram late_;  // ns
    std::uint64_t steps_ = 0, overruns_ = 0, episodes_ = 0;
    bool was_late_ = false;
};

}  // namespace emt
