// Runs a thread bound to each core that this process may use.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/own_cores.hpp"

namespace measure {

// Returns the cores that this process may use, as the kernel's number of one hardware thread of each.
inline std::vector<int> own_cores() {
    return cores::own();
}

inline bool bind(std::thread& thread, int core) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(core), &only);
    return pthread_setaffinity_np(thread.native_handle(), sizeof(only), &only) == 0;
}

// Runs act(i) on cores[i], all at the same time. No thread starts before it is bound, so that it owns the memory that
// it touches first. An exception of `act` ends the program. Throws std::runtime_error if a thread cannot be bound.
template <typename Act>
void on_cores(const std::vector<int>& cores, const Act& act) {
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    bool bound = true;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        threads.emplace_back([&, i] {
            go.wait(false);
            act(i);
        });
        bound = bind(threads.back(), cores[i]) && bound;
    }
    go = true;
    go.notify_all();
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (!bound) {
        throw std::runtime_error("cannot bind a thread to each of " + std::to_string(cores.size()) + " cores");
    }
}

}  // namespace measure
