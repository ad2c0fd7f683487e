// Progress of a non-blocking operation while the rank computes, without a call of MPI in between.
//
// Operations: messages between two ranks in both directions (MPI_Isend, MPI_Irecv), or sums over all ranks
// (MPI_Iallreduce). Each iteration takes three times of each size: the operation and its wait at once (communication);
// computing for about as long, only on processor and registers (computation); the operation, the computing, then the
// wait (both). The hidden part of the communication is 1 - (both - computation) / communication, as in OSU's
// non-blocking collectives.

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kCalibrations = 9;

// Steps of a chaotic map: each needs the previous one, and no compiler knows the end.
double compute(long steps) {
    double value = 0.4;
    for (long step = 0; step < steps; ++step) {
        value = 3.7 * value * (1 - value);
    }
    return value;
}

double timed_compute(long steps) {
    const double start = now();
    volatile double result = compute(steps);
    static_cast<void>(result);
    return now() - start;
}

double steps_per_s() {
    constexpr long kSteps = 200'000;
    std::vector<double> seconds;
    for (int i = 0; i < kCalibrations; ++i) {
        seconds.push_back(timed_compute(kSteps));
    }
    return kSteps / median(seconds);
}

// An operation with a begin, an end, and a checked result.
struct Operation {
    std::function<void(int iteration)> prepare;
    std::function<void(std::vector<MPI_Request>& requests)> begin;
    std::function<void(int iteration)> check;
};

Operation messages(const Run& run, std::vector<char>& sent, std::vector<char>& received) {
    const int other = 1 - run.rank();
    const int rank = run.rank();
    return {[&sent, rank, other](int iteration) { fill(sent, {rank, other, iteration}); },
            [&sent, &received, other](std::vector<MPI_Request>& requests) {
                requests.resize(2);
                const int bytes = static_cast<int>(sent.size());
                MPI_Irecv(received.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
                MPI_Isend(sent.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
            },
            [&received, rank, other](int iteration) { require(received, {other, rank, iteration}); }};
}

// Whole numbers, so that sums are exact in any order.
Operation sums(const Run& run, std::vector<double>& own, std::vector<double>& total) {
    const int size = run.size();
    const int rank = run.rank();
    return {[&own, rank](int iteration) {
                for (std::size_t i = 0; i < own.size(); ++i) {
                    own[i] = static_cast<double>(rank + iteration) + static_cast<double>(i % 1024);
                }
            },
            [&own, &total](std::vector<MPI_Request>& requests) {
                requests.resize(1);
                MPI_Iallreduce(own.data(), total.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
            },
            [&total, size](int iteration) {
                for (std::size_t i = 0; i < total.size(); ++i) {
                    const double expected = size * (iteration + static_cast<double>(i % 1024)) + size * (size - 1) / 2.0;
                    if (total[i] != expected) {
                        throw std::runtime_error("wrong payload: sum " + std::to_string(i) + " is " + std::to_string(total[i]) + ", not " +
                                                 std::to_string(expected) + ", in iteration " + std::to_string(iteration));
                    }
                }
            }};
}

// Seconds of the operation with this many steps of computing between its begin and its wait.
double timed(const Operation& operation, long steps, int iteration) {
    std::vector<MPI_Request> requests;
    operation.prepare(iteration);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    operation.begin(requests);
    if (steps > 0) {
        timed_compute(steps);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    const double seconds = now() - start;
    operation.check(iteration);
    return seconds;
}

json measure(const Run& run, const Operation& operation, const std::string& name, int bytes) {
    const std::string awaited = name + " of " + std::to_string(bytes) + " bytes";
    run.waits_for(awaited);
    std::vector<double> alone;
    for (int iteration = 0; iteration < run.options().iterations; ++iteration) {
        alone.push_back(timed(operation, 0, iteration));
    }
    double seconds = median(alone);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const long steps = std::max(1L, std::lround(seconds * steps_per_s()));
    Medians medians(3);
    for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
        run.waits_for(awaited);
        for (int iteration = 0; iteration < run.options().iterations; ++iteration) {
            medians.add(0, timed(operation, 0, iteration));
            MPI_Barrier(MPI_COMM_WORLD);
            medians.add(1, timed_compute(steps));
            medians.add(2, timed(operation, steps, iteration));
        }
        medians.end_of_repeat();
    }
    return {{"bytes", bytes}, {"communication_us", medians[0]}, {"computation_us", medians[1]}, {"both_us", medians[2]}};
}

}  // namespace

void overlap(const Run& run, const Overlap& options) {
    const bool collective = options.operation == "iallreduce";
    if (!collective) {
        run.require_ranks(2);
    }
    json series = json::array();
    for (const int bytes : options.sizes) {
        if (collective) {
            std::vector<double> own(at(bytes) / sizeof(double));
            std::vector<double> total(own.size());
            series.push_back(measure(run, sums(run, own, total), options.operation, bytes));
        } else {
            std::vector<char> sent(at(bytes));
            std::vector<char> received(at(bytes));
            series.push_back(measure(run, messages(run, sent, received), options.operation, bytes));
        }
    }
    run.waits_no_more();
    write_repeats(run, {{"operation", options.operation}, {"series", series}});
}

}  // namespace measure::mpi
