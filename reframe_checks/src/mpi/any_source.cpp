// Cost of MPI_ANY_SOURCE beside a named source, over the number of peers: some libraries search all their connections
// for a message from any source.
//
// Rank 0 has exchanged messages with 1, 2, 4, … and finally all other ranks, in a random order. It measures with some of these, one
// after the other, while the rest sleeps outside of MPI:
//   expected: half of the time from posting the receive, then asking for the message, until it arrives;
//   unexpected: the time of MPI_Recv for each of kWaiting messages that arrived before. They have arrived because the partner
//   sends them before another message that rank 0 has received, and messages do not overtake each other.
// Named and any source alternate. A repeat gives the median of all iterations with all these partners.

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kOrderTag = 3;
constexpr int kWaitingTag = 4;
constexpr int kAllSentTag = 5;
constexpr int kWaiting = 32;
constexpr int kNamed = 0;
constexpr int kAny = 1;

// The next order of rank 0 for a partner, for this many iterations.
enum Order : int { kExpected, kUnexpected, kEnd };

void give_order(int partner, Order order, int iterations) {
    const int words[] = {order, iterations};
    MPI_Send(words, 2, MPI_INT, partner, kOrderTag, MPI_COMM_WORLD);
}

// Waits without MPI: on crowded cores, a polling rank slows the measured ranks.
std::pair<Order, int> next_order(const Run& run) {
    run.waits_for("what rank 0 wants");
    for (;;) {
        int there = 0;
        MPI_Iprobe(0, kOrderTag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there != 0) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    int words[2] = {};
    MPI_Recv(words, 2, MPI_INT, 0, kOrderTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return {static_cast<Order>(words[0]), words[1]};
}

std::vector<std::vector<char>> waiting_buffers(const Run& run) {
    return std::vector<std::vector<char>>(kWaiting, std::vector<char>(at(run.options().bytes)));
}

void serve(const Run& run) {
    std::vector<char> message(at(run.options().bytes));
    auto waiting = waiting_buffers(run);
    for (;;) {
        const auto [order, iterations] = next_order(run);
        if (order == kEnd) {
            run.waits_no_more();
            return;
        }
        run.waits_for("questions of rank 0");
        for (int iteration = 0; iteration < iterations; ++iteration) {
            in_turns(iteration, [&](int way) {
                if (order == kExpected) {
                    answer(0, message, {run.rank(), 0, iteration, way});
                    return;
                }
                for (int i = 0; i < kWaiting; ++i) {
                    fill(waiting[at(i)], {run.rank(), 0, iteration, way * kWaiting + i});
                }
                MPI_Recv(nullptr, 0, MPI_BYTE, 0, kAskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (auto& one : waiting) {
                    MPI_Send(one.data(), static_cast<int>(one.size()), MPI_BYTE, 0, kWaitingTag, MPI_COMM_WORLD);
                }
                MPI_Send(nullptr, 0, MPI_BYTE, 0, kAllSentTag, MPI_COMM_WORLD);
            });
        }
    }
}

void expect(const Run& run, int partner, int iterations, Medians& medians) {
    std::vector<char> received(at(run.options().bytes));
    run.waits_for("answers of rank " + std::to_string(partner));
    give_order(partner, kExpected, iterations);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        in_turns(iteration, [&](int way) {
            const int source = way == kAny ? MPI_ANY_SOURCE : partner;
            medians.add(at(way), ask(partner, source, received, {partner, 0, iteration, way}) / 2);
        });
    }
}

void take_unexpected(const Run& run, int partner, int iterations, Medians& medians) {
    auto received = waiting_buffers(run);
    run.waits_for("messages that rank " + std::to_string(partner) + " sends unasked");
    give_order(partner, kUnexpected, iterations);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        in_turns(iteration, [&](int way) {
            const int source = way == kAny ? MPI_ANY_SOURCE : partner;
            MPI_Send(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD);
            MPI_Recv(nullptr, 0, MPI_BYTE, partner, kAllSentTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const double start = now();
            for (auto& one : received) {
                MPI_Recv(one.data(), static_cast<int>(one.size()), MPI_BYTE, source, kWaitingTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            medians.add(2 + at(way), (now() - start) / kWaiting);
            for (int i = 0; i < kWaiting; ++i) {
                require(received[at(i)], {partner, 0, iteration, way * kWaiting + i});
            }
        });
    }
}

// All ranks but 0, in a random order, so that the first ones are not on rank 0's node.
std::vector<int> all_partners(int size) {
    std::vector<int> partners;
    for (int rank = 1; rank < size; ++rank) {
        partners.push_back(rank);
    }
    std::sort(partners.begin(), partners.end(), [](int one, int other) {
        return mixed(static_cast<std::uint64_t>(one)) < mixed(static_cast<std::uint64_t>(other));
    });
    return partners;
}

json with_peers(const Run& run, const std::vector<int>& peers, int most_sources) {
    Medians medians(4);
    const std::size_t measured = std::min(peers.size(), at(most_sources));
    for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
        for (std::size_t i = 0; i < measured; ++i) {
            const int partner = peers[i * peers.size() / measured];
            expect(run, partner, run.options().iterations, medians);
            take_unexpected(run, partner, std::max(2, run.options().iterations / kWaiting), medians);
        }
        medians.end_of_repeat();
    }
    return {{"peers", peers.size()},
            {"expected_named_us", medians[0]},
            {"expected_any_us", medians[1]},
            {"unexpected_named_us", medians[2]},
            {"unexpected_any_us", medians[3]}};
}

}  // namespace

void any_source(const Run& run, const AnySource& options) {
    json series = json::array();
    if (run.rank() != 0) {
        serve(run);
    } else {
        const std::vector<int> partners = all_partners(run.size());
        std::vector<int> peers;
        Medians untimed(4);
        for (std::size_t count = 1; peers.size() < partners.size(); count = std::min(2 * count, partners.size())) {
            while (peers.size() < count) {
                peers.push_back(partners[peers.size()]);
                expect(run, peers.back(), 2, untimed);
            }
            series.push_back(with_peers(run, peers, options.most_sources));
        }
        for (const int partner : partners) {
            give_order(partner, kEnd, 0);
        }
        run.waits_no_more();
    }
    write_repeats(run, {{"bytes", run.options().bytes}, {"series", series}});
}

}  // namespace measure::mpi
