// The cores that this process may use: only the first hardware thread of each, since two on one core halve each other.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cores {

// Returns true if the kernel's list of processors ("0,64" or "0-1,8") has the number.
inline bool lists(const std::string& list, int number) {
    for (std::size_t from = 0; from < list.size();) {
        const std::size_t to = std::min(list.find(',', from), list.size());
        const std::string part = list.substr(from, to - from);
        const std::size_t dash = part.find('-');
        const int low = std::stoi(part);
        if (low <= number && number <= (dash == std::string::npos ? low : std::stoi(part.substr(dash + 1)))) {
            return true;
        }
        from = to + 1;
    }
    return false;
}

// Returns those processors of an ascending list that share no core with an earlier one. `siblings(cpu)`: list of the
// processors on its core, empty if the kernel does not report it.
template <typename Siblings>
std::vector<int> first_threads(const std::vector<int>& cpus, Siblings&& siblings) {
    std::vector<std::pair<int, std::string>> firsts;
    for (const int cpu : cpus) {
        const bool shares = std::any_of(firsts.begin(), firsts.end(), [cpu](const auto& first) { return lists(first.second, cpu); });
        if (!shares) {
            firsts.emplace_back(cpu, siblings(cpu));
        }
    }
    std::vector<int> numbers;
    for (const auto& first : firsts) {
        numbers.push_back(first.first);
    }
    return numbers;
}

inline std::string siblings_of(int cpu) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string list;
    std::getline(file, list);
    return list;
}

// Returns each core as the kernel's number of its first hardware thread in the mask of this process.
inline std::vector<int> own() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) {
        throw std::runtime_error("sched_getaffinity failed");
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) {
            cpus.push_back(cpu);
        }
    }
    return first_threads(cpus, siblings_of);
}

}  // namespace cores
