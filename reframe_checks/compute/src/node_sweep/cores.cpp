#include "cores.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernels.hpp"

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

bool bind(std::thread& thread, int core) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(core), &only);
    return pthread_setaffinity_np(thread.native_handle(), sizeof(only), &only) == 0;
}

}  // namespace

std::vector<int> own_cores() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) {
        throw std::runtime_error("sched_getaffinity failed");
    }
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) {
            cores.push_back(core);
        }
    }
    return cores;
}

std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds) {
    std::vector<CoreSpeeds> found(cores.size());
    std::barrier together(static_cast<std::ptrdiff_t>(cores.size()));
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    bool bound = true;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        threads.emplace_back([&, i] {
            go.wait(false);
            Triad triad(bytes_per_core);
            MultiplyAdd multiply_add;
            together.arrive_and_wait();
            found[i].triad_mbps = speed(triad, triad.bytes_per_pass(), seconds) / 1e6;
            together.arrive_and_wait();
            found[i].gflops = speed(multiply_add, MultiplyAdd::flop_per_pass(), seconds) / 1e9;
            found[i].correct = triad.correct() && multiply_add.correct();
        });
        bound = bind(threads.back(), cores[i]) && bound;
    }
    // No thread touches its memory before it is where it belongs.
    go = true;
    go.notify_all();
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (!bound) {
        throw std::runtime_error("cannot bind a thread to each of " + std::to_string(cores.size()) + " cores");
    }
    return found;
}
