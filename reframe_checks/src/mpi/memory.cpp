// Memory that MPI takes on a rank, over the number of peers with which the rank has exchanged messages.
//
// Rank r sends to r + d and r - d, and receives from both, for d = 1, 2, 3, …: kSmall messages of kSmallBytes, and one
// of kLargeBytes. All ranks read their memory before MPI_Init, right after it, and when d is 1, 2, 4, … and the last.
// The reading right after MPI_Init, with 0 peers, contains all connections if MPI connects at the start. After each
// reading, a word goes twice round the ring of neighbours, which are peers already, so that no rank is ahead. The slope
// over peers is the memory of a connection.
//
// Memory: Pss of /proc/self/smaps_rollup, and huge pages, which Pss leaves out. In Pss, memory shared by n processes
// counts 1/n for each, such as MPI's segments between ranks of a node. Buffers of the program are touched before the
// first reading.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kRingTag = 6;
constexpr int kSmall = 16;
constexpr int kSmallBytes = 1024;
constexpr int kLargeBytes = 1 << 18;

void exchange(const Run& run, int to, int from, std::vector<char>& sent, std::vector<char>& received, int distance) {
    for (int part = 0; part <= kSmall; ++part) {
        const int bytes = part < kSmall ? kSmallBytes : kLargeBytes;
        fill({sent.data(), at(bytes)}, {run.rank(), to, distance, part});
        MPI_Sendrecv(sent.data(), bytes, MPI_BYTE, to, part, received.data(), bytes, MPI_BYTE, from, part, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        require({received.data(), at(bytes)}, {from, run.rank(), distance, part});
    }
}

// Only through neighbours: MPI's barrier would make other ranks peers.
void round_the_ring(const Run& run) {
    const int next = (run.rank() + 1) % run.size();
    const int before = (run.rank() + run.size() - 1) % run.size();
    for (int round = 0; round < 2; ++round) {
        if (run.rank() == 0) {
            MPI_Send(nullptr, 0, MPI_BYTE, next, kRingTag, MPI_COMM_WORLD);
            MPI_Recv(nullptr, 0, MPI_BYTE, before, kRingTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(nullptr, 0, MPI_BYTE, before, kRingTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(nullptr, 0, MPI_BYTE, next, kRingTag, MPI_COMM_WORLD);
        }
    }
}

// Returns median and maximum of all ranks' readings, on rank 0.
json of_all_ranks(const Run& run, double own_kib) {
    std::vector<double> all(at(run.size()));
    MPI_Gather(&own_kib, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return {{"median_kib", rounded(median(all))},
            {"largest_kib", rounded(*std::max_element(all.begin(), all.end()))}};
}

}  // namespace

double memory_kib() {
    std::ifstream file("/proc/self/smaps_rollup");
    double kib = 0;
    bool found = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        double value = 0;
        if (words >> key >> value && (key == "Pss:" || key == "Private_Hugetlb:" || key == "Shared_Hugetlb:")) {
            kib += value;
            found = found || key == "Pss:";
        }
    }
    if (!found) {
        throw std::runtime_error("/proc/self/smaps_rollup has no line `Pss:`: it needs Linux 4.14 or newer");
    }
    return kib;
}

void memory(const Run& run, const Memory& options) {
    std::vector<char> sent(kLargeBytes, 'x');
    std::vector<char> received(kLargeBytes, 'x');
    const double buffers_kib = 2.0 * kLargeBytes / 1024;
    std::vector<int> peers = {0};
    std::vector<double> kib = {memory_kib() - buffers_kib};
    const int furthest = run.size() / 2;
    int next_reading = 1;
    for (int distance = 1; distance <= furthest; ++distance) {
        run.waits_for("messages over a distance of " + std::to_string(distance) + " ranks");
        const int up = (run.rank() + distance) % run.size();
        const int down = (run.rank() + run.size() - distance) % run.size();
        exchange(run, up, down, sent, received, distance);
        exchange(run, down, up, sent, received, distance);
        if (distance == next_reading || distance == furthest) {
            round_the_ring(run);
            peers.push_back(std::min(2 * distance, run.size() - 1));
            kib.push_back(memory_kib() - buffers_kib);
            round_the_ring(run);
            next_reading *= 2;
        }
    }
    run.waits_for("the figures of all ranks");
    const json before = of_all_ranks(run, options.before_init_kib);
    json series = json::array();
    for (std::size_t i = 0; i < peers.size(); ++i) {
        json reading = of_all_ranks(run, kib[i]);
        reading["peers"] = peers[i];
        series.push_back(reading);
    }
    run.waits_no_more();
    write_repeats(run, {{"before_init", before}, {"series", series}});
}

}  // namespace measure::mpi
