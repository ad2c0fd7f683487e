// Random ring of HPC Challenge, as in NSIM-ACE 4.1: the ranks form one ring in a random order. Each rank sends `bytes`
// to its left and to its right neighbour at once, while it receives the same from both.
//
// The bandwidth of a process is 2 * bytes / t, with t the longest of all ranks in the iteration; the best iteration
// counts. (HPC Challenge takes the geometric mean over ten orders; NSIM-ACE and this program use one. HPC Challenge
// uses 2,000,000 bytes.)
//
// Ways: `isend` (MPI_Isend, MPI_Irecv, MPI_Waitall); `put` (MPI_Put into both neighbours, MPI_Win_flush, then a word
// into both, which they poll for: t ends when both words have arrived); `get` (MPI_Get from both neighbours,
// MPI_Win_flush).

#include <array>

#include "common/payload.hpp"
#include "patterns/patterns.hpp"
#include "patterns/window.hpp"

namespace measure::patterns {
namespace {

// Blocks of sent and received data: with the left and the right neighbour.
constexpr int kLeft = 0;
constexpr int kRight = 1;

struct Ring {
    const Run& run;
    std::size_t bytes;
    std::array<int, 2> neighbour;

    [[nodiscard]] std::span<char> block(std::span<char> both, int side) const { return both.subspan(at(side) * bytes, bytes); }
    // Data sent to one side arrives in the receiver's block of the other side.
    void fill_all(std::span<char> sent, int iteration) const {
        for (const int side : {kLeft, kRight}) {
            fill(block(sent, side), {run.rank(), neighbour[at(side)], iteration, 1 - side});
        }
    }
    void require_all(std::span<char> received, int iteration) const {
        for (const int side : {kLeft, kRight}) {
            require(block(received, side), {neighbour[at(side)], run.rank(), iteration, side});
        }
    }
};

std::vector<double> by_messages(const Ring& ring) {
    std::vector<char> sent(2 * ring.bytes);
    std::vector<char> received(2 * ring.bytes);
    std::vector<MPI_Request> requests;
    std::vector<double> seconds;
    for (int iteration = 0; iteration < ring.run.options().iterations; ++iteration) {
        ring.fill_all(sent, iteration);
        ring.run.start_together();
        const double start = now();
        for (const int side : {kLeft, kRight}) {
            const auto into = ring.block(received, side);
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, ring.neighbour[at(side)], side, MPI_COMM_WORLD, &requests.back());
        }
        for (const int side : {kLeft, kRight}) {
            const auto from = ring.block(sent, side);
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, ring.neighbour[at(side)], 1 - side, MPI_COMM_WORLD,
                      &requests.back());
        }
        ring.run.wait_all(requests, "messages with ranks " + std::to_string(ring.neighbour[kLeft]) + " and " +
                                        std::to_string(ring.neighbour[kRight]));
        seconds.push_back(now() - start);
        ring.require_all(received, iteration);
    }
    return seconds;
}

std::vector<double> by_puts(const Ring& ring) {
    const std::vector<int> partners(ring.neighbour.begin(), ring.neighbour.end());
    Window window(ring.run, 2 * ring.bytes, partners);
    Words words(ring.run, 2, partners);
    std::vector<char> sent(2 * ring.bytes);
    std::vector<double> seconds;
    for (int iteration = 0; iteration < ring.run.options().iterations; ++iteration) {
        const auto arrived = static_cast<std::uint64_t>(iteration) + 1;
        ring.fill_all(sent, iteration);
        ring.run.start_together();
        const double start = now();
        for (const int side : {kLeft, kRight}) {
            window.put(ring.block(sent, side), ring.neighbour[at(side)], at(1 - side) * ring.bytes);
        }
        window.complete();
        for (const int side : {kLeft, kRight}) {
            words.put(arrived, ring.neighbour[at(side)], at(1 - side));
        }
        for (const int side : {kLeft, kRight}) {
            words.wait(at(side), ring.neighbour[at(side)], arrived, arrived);
        }
        seconds.push_back(now() - start);
        words.complete();
        window.see_memory();
        ring.require_all(window.memory(), iteration);
    }
    return seconds;
}

std::vector<double> by_gets(const Ring& ring) {
    Window window(ring.run, 2 * ring.bytes, {ring.neighbour.begin(), ring.neighbour.end()});
    std::vector<char> received(2 * ring.bytes);
    std::vector<double> seconds;
    for (int iteration = 0; iteration < ring.run.options().iterations; ++iteration) {
        ring.fill_all(window.memory(), iteration);
        window.see_memory();
        ring.run.start_together();
        const double start = now();
        for (const int side : {kLeft, kRight}) {
            window.get(ring.block(received, side), ring.neighbour[at(side)], at(1 - side) * ring.bytes);
        }
        window.complete();
        seconds.push_back(now() - start);
        ring.require_all(received, iteration);
        // No rank fills its memory again before its neighbours have read it.
        ring.run.start_together();
    }
    return seconds;
}

}  // namespace

void random_ring(const Run& run, const RandomRing& options) {
    const std::vector<int> order = shuffled(run.size(), run.options().seed);
    int place = 0;
    while (order[at(place)] != run.rank()) {
        ++place;
    }
    const auto rank_at = [&](int there) { return order[at((there + run.size()) % run.size())]; };
    const Ring ring{run, at(options.bytes), {rank_at(place - 1), rank_at(place + 1)}};
    const std::vector<double> seconds = options.way == "isend" ? by_messages(ring) : options.way == "put" ? by_puts(ring) : by_gets(ring);
    run.write({{"way", options.way},
               {"bytes", options.bytes},
               {"seed", run.options().seed},
               {"iterations", seconds.size()},
               {"times_us", run.longest_us(seconds)}});
}

}  // namespace measure::patterns
