// ring_traffic: which network adapters carry what MPI sends, by the adapters' own counters.
//
// One rank on each node. Every rank sends a number of bytes to the next one, in messages of 1 MiB, and receives as many
// from the one before. Before and after that it reads, of its node, the bytes sent and received of
//   - every network interface (/sys/class/net/NAME/statistics/tx_bytes, rx_bytes), but the loopback's,
//   - every port of an RDMA adapter (/sys/class/infiniband/NAME/ports/N/counters/port_xmit_data, port_rcv_data, in units
//     of four bytes), which TCP over the same adapter counts, too.
// Rank 0 writes the differences of all nodes as JSON, and which interfaces are IP over InfiniBand or Omni-Path: these
// count what TCP sends, and nothing of RDMA.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "gathered.hpp"
#include "heartbeat.hpp"
#include "in_world.hpp"
#include "json_text.hpp"
#include "node_names.hpp"
#include "world.hpp"
#include "write_file.hpp"

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMessage = 1 << 20;
// ARPHRD_INFINIBAND of <net/if_arp.h>.
constexpr std::int64_t kInfiniBand = 32;

struct Options {
    int mib = 64;
    fs::path output = "ring_traffic.json";
};

struct Bytes {
    std::int64_t sent = 0;
    std::int64_t received = 0;
};

std::int64_t number_in(const fs::path& path) {
    std::ifstream file(path);
    std::int64_t value = 0;
    file >> value;
    return file ? value : 0;
}

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

// The first message brings the connection, which is not counted.
void send_around(const sweep::World& world, int messages) {
    const std::vector<char> out(kMessage, static_cast<char>(world.rank()));
    std::vector<char> in(kMessage);
    const int next = (world.rank() + 1) % world.size();
    const int before = (world.rank() + world.size() - 1) % world.size();
    heartbeat::phase(sweep::kPatience_s, "sends around the ring");
    for (int message = 0; message < messages; ++message) {
        heartbeat::beat();
        MPI_Sendrecv(out.data(), kMessage, MPI_CHAR, next, 0, in.data(), kMessage, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (in.front() != static_cast<char>(before) || in.back() != static_cast<char>(before)) {
            throw std::runtime_error("a message from rank " + std::to_string(before) + " holds something else");
        }
    }
}

void measure(const sweep::World& world, const Options& options) {
    if (world.size() < 2) {
        throw std::runtime_error("one rank has nobody to send to: start one on each of two nodes or more");
    }
    send_around(world, 1);
    world.barrier();
    const auto before = counters();
    send_around(world, options.mib);
    world.barrier();
    json adapters = json::array();
    for (const auto& [name, now] : counters()) {
        const auto first = before.find(name);
        if (first != before.end()) {
            adapters.push_back({{"name", name}, {"sent", now.sent - first->second.sent},
                                {"received", now.received - first->second.received}});
            if (ip_over_infiniband(name)) {
                adapters.back()["ip_over_infiniband"] = true;
            }
        }
    }
    const json own = {{"node", sweep::own_node_name()}, {"adapters", adapters}};
    json nodes = json::array();
    for (const std::string& text : sweep::gathered(own.dump(), world)) {
        nodes.push_back(json::parse(text));
    }
    if (world.rank() == 0) {
        const json document = {{"format", "kappa-ring-traffic"}, {"version", 1}, {"mpi", sweep::World::library()},
                               {"bytes", options.mib * static_cast<std::int64_t>(kMessage)}, {"ranks", world.size()},
                               {"nodes", nodes}};
        sweep::write_file(options.output, sweep::in_lines(document, {"nodes"}));
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Which network adapters carry what MPI sends. Start one rank on each node."};
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0")->capture_default_str();
    app.add_option("--mib", options.mib, "that each rank sends to the next")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    sweep::in_world("ring_traffic", &argc, &argv, [&options](const sweep::World& world) { measure(world, options); });
    return 0;
}
