// `emt alike`: every rank, bound to its own core, simulates the whole case again and again for some seconds. The result
// lists the final bits of each core's rounds (format kappa-bit-sweep); this program does not judge them.
#include "measure/alike.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/own_cores.hpp"
#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "measure/checksum.hpp"

namespace emt {
namespace {

using nlohmann::json;

struct Core {
    std::array<char, 256> node{};  // as Slurm calls it
    int number = -1;
};

/// Binds this rank to the core with the rank's place among the node's ranks, unless the launcher has bound it already.
Core own_core() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int place = 0;
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    const std::vector<int> usable = cores::own();
    Core own;
    own.number = usable[static_cast<std::size_t>(place) % usable.size()];
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(own.number), &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) throw std::runtime_error("cannot bind to core " + std::to_string(own.number));
    const char* slurm = std::getenv("SLURMD_NODENAME");
    if (slurm == nullptr) gethostname(own.node.data(), own.node.size() - 1);
    else std::string(slurm).copy(own.node.data(), own.node.size() - 1);
    return own;
}

json digests_as_json(const std::map<std::uint64_t, int>& rounds) {
    json out = json::array();
    for (const auto& [digest, count] : rounds) out.push_back({{"digest", sixteen_digits(digest)}, {"rounds", count}});
    return out;
}

void simulate_and_tell(const Mpi& mpi, const AlikeOptions& o) {
    using Clock = std::chrono::steady_clock;
    const Kernels* kernels = find_kernels(o.isa.c_str());
    agree(mpi, kernels == nullptr ? "this processor has no '" + o.isa + "' kernels" : "");
    const Core core = own_core();
    const Case study = load_case(o.case_path);
    const Alike alike(study, kernels);
    std::map<std::uint64_t, int> rounds;
    const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
    heartbeat::phase(kPatience_s, "rounds of the whole case");
    do {
        ++rounds[alike.round(o.steps, [](Engine&) { heartbeat::beat(); })];
    } while (Clock::now() < end);
    // A slow core ends its last round later than the others, which wait.
    heartbeat::phase(kPatience_s + 10 * o.seconds, "gathers the bits");
    const json own{{"node", core.node.data()}, {"core", core.number}, {"digests", digests_as_json(rounds)}, {"basis", basis_of_bits()}};
    const std::string texts = gathered(mpi, own.dump() + "\n");
    if (mpi.rank != 0) return;
    std::map<std::string, json> nodes;
    for (std::size_t from = 0, to = 0; (to = texts.find('\n', from)) != std::string::npos; from = to + 1) {
        const json told = json::parse(texts.substr(from, to - from));
        json& node = nodes[told["node"]];
        node["node"] = told["node"];
        node["cores"].push_back(told["core"]);
        json& work = node["works"][0];
        work["work"] = "emt";
        work["basis"] = told["basis"];
        work["cores"].push_back(told["digests"]);
    }
    json list = json::array();
    for (const auto& [name, node] : nodes) list.push_back(node);
    const json result{{"format", "kappa-bit-sweep"}, {"version", 1}, {"ranks", nodes.size()}, {"variant", o.variant}, {"nodes", list}};
    write_file(o.result_path, result.dump(1) + "\n");
}

}  // namespace

int alike_command(const AlikeOptions& options, int argc, char** argv) {
    const Mpi mpi(argc, argv);
    try {
        simulate_and_tell(mpi, options);
    } catch (const std::exception& e) {
        abort_all(mpi, e.what());
    }
    return 0;
}

}  // namespace emt
