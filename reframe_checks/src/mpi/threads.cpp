// The level of thread support that MPI gives for each requested level, and the latency of threads that all call MPI at
// once.
//
// Two ranks; with n threads, thread i of one exchanges messages with thread i of the other (own tag, same
// communicator). Latency: half of the time from sending a message until its answer arrives; a repeat gives the median
// of all threads' latencies. Message rate: all messages of a rank's threads, both ways, in the time from their common
// start to the end of the last. One thread is the main thread, which may call MPI at any level. More threads are
// measured only if MPI gives MPI_THREAD_MULTIPLE.

#include <array>
#include <barrier>
#include <exception>
#include <stdexcept>
#include <thread>

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kFirstTag = 100;

// One thread's part: its latencies, in s.
std::vector<double> exchange(const Run& run, int thread) {
    const int other = 1 - run.rank();
    const int tag = kFirstTag + thread;
    const int bytes = run.options().bytes;
    std::vector<char> message(at(bytes));
    std::vector<double> seconds;
    const auto send = [&](int iteration) {
        MPI_Send(message.data(), bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
        return iteration;
    };
    const auto receive = [&](int iteration) {
        MPI_Recv(message.data(), bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(message, {other, run.rank(), iteration, thread});
    };
    for (int iteration = 0; iteration < run.options().iterations; ++iteration) {
        const Label own{run.rank(), other, iteration, thread};
        if (run.rank() == 1) {
            receive(iteration);
            fill(message, own);
            send(iteration);
            continue;
        }
        fill(message, own);
        const double start = now();
        send(iteration);
        receive(iteration);
        seconds.push_back((now() - start) / 2);
    }
    return seconds;
}

struct Repeat {
    std::vector<double> latencies_s;
    double messages_per_s;
};

// Rethrows a thread's exception after all threads have ended.
Repeat on_threads(const Run& run, int threads) {
    std::vector<std::vector<double>> latencies(at(threads));
    std::vector<std::exception_ptr> errors(at(threads));
    double start = 0;
    std::barrier go(threads, [&start]() noexcept { start = now(); });
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            go.arrive_and_wait();
            try {
                latencies[at(thread)] = exchange(run, thread);
            } catch (...) {
                errors[at(thread)] = std::current_exception();
            }
        });
    }
    for (std::thread& thread : running) {
        thread.join();
    }
    const double took = now() - start;
    Repeat repeat{{}, 2.0 * threads * run.options().iterations / took};
    for (std::size_t thread = 0; thread < latencies.size(); ++thread) {
        if (errors[thread]) {
            std::rethrow_exception(errors[thread]);
        }
        repeat.latencies_s.insert(repeat.latencies_s.end(), latencies[thread].begin(), latencies[thread].end());
    }
    return repeat;
}

Repeat on_main_thread(const Run& run) {
    const double start = now();
    std::vector<double> latencies = exchange(run, 0);
    return {std::move(latencies), 2.0 * run.options().iterations / (now() - start)};
}

json measure(const Run& run, int threads) {
    Medians latency(1);
    json rates = json::array();
    for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
        run.waits_for("messages of " + std::to_string(threads) + " threads of the other rank");
        MPI_Barrier(MPI_COMM_WORLD);
        const Repeat found = threads == 1 ? on_main_thread(run) : on_threads(run, threads);
        for (const double seconds : found.latencies_s) {
            latency.add(0, seconds);
        }
        latency.end_of_repeat();
        rates.push_back(rounded(found.messages_per_s));
    }
    run.waits_no_more();
    return {{"threads", threads}, {"latency_us", latency[0]}, {"messages_per_s", rates}};
}

}  // namespace

const std::map<std::string, int>& thread_levels() {
    static const std::map<std::string, int> levels = {{"single", MPI_THREAD_SINGLE},
                                                      {"funneled", MPI_THREAD_FUNNELED},
                                                      {"serialized", MPI_THREAD_SERIALIZED},
                                                      {"multiple", MPI_THREAD_MULTIPLE}};
    return levels;
}

void threads(const Run& run, const Threads& options) {
    run.require_ranks(2);
    std::string given = "unknown";
    for (const auto& [name, level] : thread_levels()) {
        given = level == run.world().provided() ? name : given;
    }
    int told = MPI_THREAD_SINGLE;
    MPI_Query_thread(&told);
    if (told != run.world().provided()) {
        throw std::runtime_error("MPI_Query_thread says " + std::to_string(told) + ", MPI_Init_thread said " +
                                 std::to_string(run.world().provided()));
    }
    json series = json::array();
    for (const int count : options.threads) {
        if (count == 1 || run.world().provided() == MPI_THREAD_MULTIPLE) {
            series.push_back(measure(run, count));
        }
    }
    write_repeats(run, {{"asked", options.level}, {"provided", given}, {"bytes", run.options().bytes}, {"series", series}});
}

}  // namespace measure::mpi
