// One rank on each node. Every rank sends a number of bytes to the next one, in messages of 1 MiB of which several are in flight,
// and receives as many from the one before; then the same the other way round. Before and after that it reads, of its node, the
// bytes sent and received of
//   - every network interface (/sys/class/net/NAME/statistics/tx_bytes, rx_bytes), but the loopback's,
//   - every port of an RDMA adapter (/sys/class/infiniband/NAME/ports/N/counters/port_xmit_data, port_rcv_data, in units
//     of four bytes), which TCP over the same adapter counts, too.
// Rank 0 writes the differences of all nodes as JSON, and which interfaces are IP over InfiniBand or Omni-Path: these
// count what TCP sends, and nothing of RDMA.
//
// With --gpus FIRST SECOND messages lie in the memory of GPUs: of ranks with an even number in that of the GPU FIRST, of the
// others in that of SECOND; then the JSON says which GPU each node took, and where it is on PCIe.
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

// What a rank sends, and where it receives; before something arrives, that holds what no rank sends to it.
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

// Sends messages to one rank while it receives as many from another, neither of which waits for the other. Returns the seconds
// until the last one arrived.
double pass_on(const World& world, const Buffers& buffers, int to, int from, int messages) {
    const char* const out = buffers.out;
    const std::vector<char*> in(buffers.in.begin(), buffers.in.begin() + std::min(kInFlight, messages));
    // First those of what is received, then those of what is sent.
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
        throw std::runtime_error("one rank has nobody to send to: start one on each of two nodes or more");
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
    // The first message brings the connection, which is not counted.
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
    // Of the time as it is printed, so that the two confirm each other to the last digit.
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
