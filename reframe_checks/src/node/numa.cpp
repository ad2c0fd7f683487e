#include "node/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "common/heartbeat.hpp"
#include "common/on_cores.hpp"
#include "common/world.hpp"
#include "node/cores.hpp"

namespace measure::node {

namespace {

constexpr std::size_t kLine = 64;
constexpr int kWindows = 5;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Binds memory that this thread touches first from now on to the domain; allocation fails if the domain has none left.
void take_memory_of(int domain) {
    constexpr int kBits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask(static_cast<std::size_t>(domain / kBits + 1));
    mask[static_cast<std::size_t>(domain / kBits)] = 1UL << (domain % kBits);
    if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), mask.size() * kBits + 1) != 0) {
        throw std::runtime_error("the kernel cannot bind memory to NUMA domain " + std::to_string(domain));
    }
}

// A line that holds the address of the next one.
struct alignas(kLine) Link {
    const Link* next;
};

// Returns the nanoseconds of a load, the minimum over several windows of time.
double chase(const Link* first, double seconds) {
    constexpr int kLoads = 1 << 16;
    double best = 1e9;
    const Link* at = first;
    for (int window = 0; window < kWindows; ++window) {
        const auto start = Clock::now();
        double loads = 0;
        double took = 0;
        do {
            for (int load = 0; load < kLoads; ++load) {
                at = at->next;
            }
            // Makes the compiler assume that the address is used.
            asm volatile("" : "+r"(at));
            loads += kLoads;
            took = seconds_since(start);
        } while (took < seconds / kWindows);
        best = std::min(best, 1e9 * took / loads);
    }
    return best;
}

// Fresh pages, which follow the memory policy: malloc may return pages touched before.
class Pages {
  public:
    explicit Pages(std::size_t bytes) : bytes_(bytes), begin_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (begin_ == MAP_FAILED) {
            throw std::runtime_error("no memory for " + std::to_string(bytes) + " bytes");
        }
        // With small pages, the walk of page tables would dominate the measurement.
        madvise(begin_, bytes, MADV_HUGEPAGE);
    }
    ~Pages() { munmap(begin_, bytes_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] void* begin() const { return begin_; }

  private:
    std::size_t bytes_;
    void* begin_;
};

double latency_ns(int memory, std::size_t bytes, double seconds) {
    take_memory_of(memory);
    const std::size_t lines = std::max<std::size_t>(bytes / kLine, 2);
    const Pages pages(lines * kLine);
    auto* const links = static_cast<Link*>(pages.begin());
    const std::vector<std::size_t> order = cycle(lines);
    for (std::size_t i = 0; i < lines; ++i) {
        links[order[i]].next = &links[order[(i + 1) % lines]];
    }
    return chase(links, seconds);
}

}  // namespace

std::vector<std::size_t> cycle(std::size_t lines) {
    std::vector<std::size_t> order(lines);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    return order;
}

std::vector<int> domains(const std::vector<Core>& cores) {
    std::set<int> found;
    for (const Core& core : cores) {
        found.insert(core.domain);
    }
    return {found.begin(), found.end()};
}

int distance(int from, int to) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(from) + "/distance");
    int found = from == to ? 10 : 20;
    for (int domain = 0; domain <= to && file >> found; ++domain) {
    }
    return found;
}

std::vector<MemoryPath> measure_paths(const std::vector<Core>& cores, std::size_t bytes_per_core, std::size_t latency_bytes, double seconds) {
    std::vector<MemoryPath> found;
    for (const int from : domains(cores)) {
        std::vector<int> numbers;
        for (const Core& core : cores) {
            if (core.domain == from) {
                numbers.push_back(core.number);
            }
        }
        for (const int memory : domains(cores)) {
            heartbeat::phase(kPatience_s + 10 * seconds, "cores of domain " + std::to_string(from) + " on memory of " + std::to_string(memory));
            std::vector<double> mbps(numbers.size());
            std::vector<char> correct(numbers.size());
            std::barrier together(static_cast<std::ptrdiff_t>(numbers.size()));
            on_cores(numbers, [&](std::size_t i) {
                take_memory_of(memory);
                Triad triad(bytes_per_core);
                together.arrive_and_wait();
                mbps[i] = triad_mbps(triad, seconds);
                correct[i] = triad.correct() ? 1 : 0;
            });
            double latency = 0;
            on_cores({numbers.front()}, [&](std::size_t) { latency = latency_ns(memory, latency_bytes, seconds); });
            found.push_back({from, memory, std::accumulate(mbps.begin(), mbps.end(), 0.0), latency,
                             std::all_of(correct.begin(), correct.end(), [](char one) { return one != 0; })});
        }
    }
    return found;
}

}  // namespace measure::node
