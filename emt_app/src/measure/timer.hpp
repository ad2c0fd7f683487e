// Time stamps for single steps: the time-stamp counter if it is constant (x86), else the steady clock; picoseconds on a
// simulated machine.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/smpi.hpp"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace emt {

class Ticks {
public:
    static std::uint64_t now() {
        if constexpr (kSimulated) return static_cast<std::uint64_t>(std::llround(clock_s() * 1e12));
#if defined(__x86_64__)
        return __rdtsc();  // about 10 ns; clock_gettime takes about 20 ns and MPI_Wtime 30 ns
#else
        return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
    }
    /// Starts a calibration for a later call of microseconds_per_tick().
    Ticks() : clock_(std::chrono::steady_clock::now()), ticks_(now()) {}
    [[nodiscard]] double microseconds_per_tick() const {
        if constexpr (kSimulated) return 1e-6;
        const auto elapsed = std::chrono::steady_clock::now() - clock_;
        return std::chrono::duration<double, std::micro>(elapsed).count() / static_cast<double>(now() - ticks_);
    }

private:
    std::chrono::steady_clock::time_point clock_;
    std::uint64_t ticks_;
};

}  // namespace emt
