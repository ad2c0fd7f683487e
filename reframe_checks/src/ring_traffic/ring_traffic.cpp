// One rank on each node. Every rank sends a number of bytes to the next one, in messages of 1 MiB with several in
// flight, and receives as many from the previous one; then the same in the other direction. Before and after, it reads
// the bytes sent and received on its node by
//   - every network interface (/sys/class/net/NAME/statistics/tx_bytes, rx_bytes), except the loopback,
//   - every port of an RDMA adapter (/sys/class/infiniband/NAME/ports/N/counters/port_xmit_data, port_rcv_data, in units
//     of four bytes), which also counts TCP over the same adapter.
// Rank 0 writes the differences of all nodes as JSON, and the interfaces that are IP over InfiniBand or Omni-Path:
// these count TCP's bytes, but no RDMA.
//
// With --gpus FIRST SECOND, messages lie in GPU memory: on GPU FIRST for even ranks, on GPU SECOND for odd ranks. Then
// the JSON also names each node's GPU and its PCIe address.
//
// Rate from a neighbour = bytes / (time from a barrier to the arrival of its last message), all nodes at the same time.

#include "ring_traffic/ring_traffic.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/files.hpp"
#include "ring_traffic/message_memory.hpp"

namespace measure::ring_traffic {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMessage = 1 << 20;
constexpr int kInFlight = 8;  // messages, each way
// ARPHRD_INFINIBAND of <net/if_arp.h>.
constexpr std::int64_t kInfiniBand = 32;

struct Bytes {
    std::int64_t sent = 0;
    std::int64_t received = 0;
};

std::map<std::string, Bytes> counters() {
    std::map<std::string, Bytes> found;
    std::error_code absent;
    for (const auto& one : fs::directory_iterator("/sys/class/net", absent)) {
        const fs::path folder = one.path() / "statistics";
        if (one.path().filename() != "lo" && fs::exists(folder, absent)) {
            found[one.path().filename()] = {number_in(folder / "tx_bytes"), number_in(folder / "rx_bytes")};
        }
    }
    for (const auto& device : fs::directory_iterator("/sys/class/infiniband", absent)) {
        for (const auto& port : fs::directory_iterator(device.path() / "ports", absent)) {
            const std::string name = device.path().filename().string() + ":" + port.path().filename().string();
            const fs::path folder = port.path() / "counters";
            found[name] = {4 * number_in(folder / "port_xmit_data"), 4 * number_in(folder / "port_rcv_data")};
        }
    }
    return found;
}

bool ip_over_infiniband(const std::string& name) {
    return number_in(fs::path("/sys/class/net") / name / "type") == kInfiniBand;
}

// Send and receive buffers of a rank; before a message arrives, its buffer holds bytes that no rank sends there.
struct Buffers {
    Buffers(std::unique_ptr<MessageMemory> where, int rank)
        : memory(std::move(where)), out(memory->filled(kMessage, static_cast<char>(rank))) {
        for (int slot = 0; slot < kInFlight; ++slot) {
            in.push_back(memory->filled(kMessage, static_cast<char>(rank)));
        }
    }
    std::unique_ptr<MessageMemory> memory;
    const char* out;
    std::vector<char*> in;
};

// Sends messages to one rank while it receives as many from another; neither direction waits for the other. Returns the
// seconds until the last message arrived.
double pass_on(const World& world, const Buffers& buffers, int to, int from, int messages) {
    const char* const out = buffers.out;
    const std::vector<char*> in(buffers.in.begin(), buffers.in.begin() + std::min(kInFlight, messages));
    // Receives come first, then sends.
    std::vector<MPI_Request> requests(2 * in.size(), MPI_REQUEST_NULL);
    heartbeat::phase(kPatience_s, "sends around the ring");
    world.barrier();
    const double start = MPI_Wtime();
    std::array<int, 2> begun = {0, 0};
    const auto begin = [&](std::size_t slot) {
        const bool receives = slot < in.size();
        if (begun[receives ? 0 : 1]++ >= messages) {
            return;
        }
        if (receives) {
            MPI_Irecv(in[slot], kMessage, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[slot]);
        } else {
            MPI_Isend(out, kMessage, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[slot]);
        }
    };
    for (std::size_t slot = 0; slot < requests.size(); ++slot) {
        begin(slot);
    }
    double arrived = 0;
    for (int index = 0; MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE),
             index != MPI_UNDEFINED;) {
        heartbeat::beat();
        const auto slot = static_cast<std::size_t>(index);
        if (slot < in.size()) {
            arrived = MPI_Wtime() - start;
            const char expected = static_cast<char>(from);
            if (buffers.memory->at(in[slot]) != expected || buffers.memory->at(in[slot] + kMessage - 1) != expected) {
                throw std::runtime_error("a message from rank " + std::to_string(from) + " holds something else");
            }
        }
        begin(slot);
    }
    return arrived;
}

}  // namespace

void measure(const Run& run, const Settings& settings) {
    const World& world = run.world();
    if (world.size() < 2) {
        throw std::runtime_error("a single rank cannot send: start one on each of two nodes or more");
    }
    const int next = (world.rank() + 1) % world.size();
    const int before = (world.rank() + world.size() - 1) % world.size();
    json gpu;
    std::unique_ptr<MessageMemory> memory;
    if (settings.gpus.empty()) {
        memory = std::make_unique<HostMemory>();
    } else {
        const int ordinal = settings.gpus[static_cast<std::size_t>(world.rank() % 2)];
        auto own = std::make_unique<GpuMemory>(ordinal);
        gpu = {{"ordinal", ordinal}, {"pci", own->bus()}};
        memory = std::move(own);
    }
    const Buffers buffers(std::move(memory), world.rank());
    // The first message opens the connection, which is not counted.
    pass_on(world, buffers, next, before, 1);
    pass_on(world, buffers, before, next, 1);
    world.barrier();
    const auto first_counters = counters();
    const double from_before_s = pass_on(world, buffers, next, before, settings.mib);
    const double from_next_s = pass_on(world, buffers, before, next, settings.mib);
    world.barrier();
    json adapters = json::array();
    for (const auto& [name, now] : counters()) {
        const auto first = first_counters.find(name);
        if (first != first_counters.end()) {
            adapters.push_back({{"name", name}, {"sent", now.sent - first->second.sent},
                                {"received", now.received - first->second.received}});
            if (ip_over_infiniband(name)) {
                adapters.back()["ip_over_infiniband"] = true;
            }
        }
    }
    const auto each_way = settings.mib * static_cast<std::int64_t>(kMessage);
    // Computed from the printed time, so that both agree to the last digit.
    const auto rate = [each_way](double seconds) {
        return rounded(static_cast<double>(each_way) / rounded(seconds) / 1e6);
    };
    json own = {{"rank", world.rank()}, {"node", own_node_name()}, {"adapters", adapters},
                      {"from_before_s", rounded(from_before_s)}, {"from_before_MBps", rate(from_before_s)},
                      {"from_next_s", rounded(from_next_s)}, {"from_next_MBps", rate(from_next_s)}};
    if (!gpu.is_null()) {
        own["gpu"] = gpu;
    }
    run.write({{"bytes", 2 * each_way}, {"bytes_each_way", each_way}, {"nodes", run.gathered(own)}}, {"nodes"});
}

}  // namespace measure::ring_traffic
