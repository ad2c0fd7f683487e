#include "node/cores.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>

#include "common/on_cores.hpp"

namespace measure::node {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Amount of work a second, in the best of several windows of time. A pass alone would not show a core that is stopped
// now and then, and a mean would blame it for what disturbs once.
template <typename Kernel>
double speed(Kernel& kernel, double work_per_pass, double seconds) {
    constexpr int kWindows = 5;
    kernel.pass();
    double best = 0;
    for (int window = 0; window < kWindows; ++window) {
        int passes = 0;
        double took = 0;
        const auto start = Clock::now();
        do {
            kernel.pass();
            ++passes;
            took = seconds_since(start);
        } while (took < seconds / kWindows);
        best = std::max(best, passes * work_per_pass / took);
    }
    return best;
}

}  // namespace

double triad_mbps(Triad& triad, double seconds) { return speed(triad, triad.bytes_per_pass(), seconds) / 1e6; }

std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds) {
    std::vector<CoreSpeeds> found(cores.size());
    std::barrier together(static_cast<std::ptrdiff_t>(cores.size()));
    on_cores(cores, [&](std::size_t i) {
        Triad triad(bytes_per_core);
        MultiplyAdd multiply_add;
        together.arrive_and_wait();
        found[i].triad_mbps = triad_mbps(triad, seconds);
        together.arrive_and_wait();
        found[i].gflops = speed(multiply_add, MultiplyAdd::flop_per_pass(), seconds) / 1e9;
        found[i].correct = triad.correct() && multiply_add.correct();
    });
    return found;
}

}  // namespace measure::node
