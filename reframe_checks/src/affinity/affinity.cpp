// Every rank starts its OpenMP threads. Each thread makes three arrays by writing to them, so that the kernel places
// them as it places a program's memory (first touch). Then it runs STREAM's triad over them for a while, and reports:
//   - the CPUs that it may run on (sched_getaffinity), and its CPU at every pass of the kernel (getcpu),
//   - the NUMA domain of those CPUs, and of 64 pages spread over its arrays (move_pages without a target),
//   - the bytes per second of its triad, while all threads of all ranks ran.
// A rank's own CPUs come from OpenMP's places or, without places, from its first thread: a place binds that thread
// before main begins.

#include "affinity/affinity.hpp"

#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace measure::affinity {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPages = 64;

struct Thread {
    std::vector<int> cpus;
    std::set<unsigned> ran_on;
    std::set<unsigned> domains;
    std::map<int, int> pages;  // domain -> number of pages; negative numbers are the kernel's errors
    double triad_mbps = 0;
};

std::vector<int> own_cpus() {
    // Kernels with more CPUs than bits in the set refuse it.
    for (int bits = 1024;; bits *= 2) {
        cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(bits));
        const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
        const bool told = sched_getaffinity(0, bytes, set) == 0;
        std::vector<int> cpus;
        for (int cpu = 0; told && cpu < bits; ++cpu) {
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) {
                cpus.push_back(cpu);
            }
        }
        CPU_FREE(set);
        if (told) {
            return cpus;
        }
        if (bits > 1 << 20) {
            throw std::runtime_error("sched_getaffinity failed");
        }
    }
}

std::vector<int> cpus_of_rank() {
    std::set<int> cpus;
    for (int place = 0; place < omp_get_num_places(); ++place) {
        std::vector<int> inside(static_cast<std::size_t>(omp_get_place_num_procs(place)));
        omp_get_place_proc_ids(place, inside.data());
        cpus.insert(inside.begin(), inside.end());
    }
    return cpus.empty() ? own_cpus() : std::vector<int>(cpus.begin(), cpus.end());
}

void note_place(Thread& thread) {
    unsigned cpu = 0;
    unsigned domain = 0;
    if (syscall(SYS_getcpu, &cpu, &domain, nullptr) != 0) {
        throw std::runtime_error("getcpu failed");
    }
    thread.ran_on.insert(cpu);
    thread.domains.insert(domain);
}

std::map<int, int> domains_of_pages(const std::vector<double>& array) {
    std::vector<void*> pages;
    for (std::size_t page = 0; page < kPages; ++page) {
        pages.push_back(const_cast<double*>(&array[page * array.size() / kPages]));
    }
    std::vector<int> status(pages.size(), 0);
    std::map<int, int> found;
    // Without a list of targets, the call moves nothing. A kernel without NUMA lacks the call.
    if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) == 0) {
        for (const int domain : status) {
            ++found[domain];
        }
    }
    return found;
}

void triad(std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = b[i] + 3.0 * c[i];
    }
}

Thread measure_thread(const Settings& settings) {
    Thread thread;
    const std::size_t length = (settings.mib_per_thread << 20U) / (3 * sizeof(double));
    std::vector<double> a(length, 0.0);
    const std::vector<double> b(length, 1.0);
    const std::vector<double> c(length, 2.0);
#pragma omp barrier
    const auto start = Clock::now();
    std::size_t passes = 0;
    std::chrono::duration<double> taken{};
    do {
        triad(a, b, c);
        note_place(thread);
        ++passes;
        taken = Clock::now() - start;
    } while (taken.count() < settings.seconds);
    if (a[0] != 7.0 || a[length - 1] != 7.0) {
        throw std::runtime_error("wrong result of the triad");
    }
    thread.triad_mbps = static_cast<double>(3 * sizeof(double) * length * passes) / taken.count() / 1e6;
    thread.cpus = own_cpus();  // read now, because the kernel may have moved it meanwhile
    thread.pages = domains_of_pages(a);
    return thread;
}

json as_json(const Thread& thread) {
    json pages = json::array();
    for (const auto& [domain, count] : thread.pages) {
        pages.push_back({{"domain", domain}, {"pages", count}});
    }
    return {{"cpus", thread.cpus},       {"ran_on", thread.ran_on}, {"domains", thread.domains},
            {"pages", pages}, {"triad_MBps", rounded(thread.triad_mbps)}};
}

}  // namespace

void measure(const Run& run, const Settings& settings) {
    const std::vector<int> cpus = cpus_of_rank();
    std::vector<Thread> threads(static_cast<std::size_t>(omp_get_max_threads()));
    run.world().barrier();
    heartbeat::phase(kPatience_s + 10 * settings.seconds, "triad on all threads");
    // An exception in a thread ends the program with its message, and MPI ends the other ranks.
#pragma omp parallel
    threads[static_cast<std::size_t>(omp_get_thread_num())] = measure_thread(settings);
    json own = {{"rank", run.rank()}, {"node", own_node_name()}, {"cpus", cpus}, {"threads", json::array()}};
    for (const Thread& thread : threads) {
        own["threads"].push_back(as_json(thread));
    }
    run.write({{"ranks", run.gathered(own)}}, {"ranks"});
}

}  // namespace measure::affinity
