// `emt caches`: every rank alone runs several cases, in order of the memory that a step touches. It measures the time
// of a step and the part of it that is work. The result gives both for each node, with the sizes of its caches. Start
// one rank per node.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/heartbeat.hpp"
#include "base/own_cores.hpp"
#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "commands/measurements.hpp"
#include "commands/ranks.hpp"
#include "measure/checksum.hpp"
#include "measure/replay.hpp"
#include "measure/timer.hpp"

namespace emt {
namespace {

using nlohmann::json;

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Returns the data caches of a core, in bytes; empty if the kernel does not report them, as in some virtual machines.
json caches_of(int core) {
    json found = json::array();
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(index) + "/";
        const std::string type = first_line(folder + "type"), level = first_line(folder + "level"), size = first_line(folder + "size");
        if (level.empty() || size.empty() || type == "Instruction") continue;
        const long unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
        found.push_back({{"level", std::stoi(level)}, {"bytes", std::stol(size) * unit}});
    }
    return found;
}

std::string own_node() {
    if (const char* slurm = std::getenv("SLURMD_NODENAME")) return slurm;
    std::string name(256, '\0');
    gethostname(name.data(), name.size() - 1);
    return name.c_str();
}

/// Waits for all ranks without using the processor, so that the measuring ranks are not slowed.
void wait_for_all() {
    heartbeat::phase(0, "waits for all ranks");
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int arrived = 0; MPI_Test(&request, &arrived, MPI_STATUS_IGNORE), arrived == 0;)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
}

json measured(const std::string& path, const CachesOptions& o, const Kernels* kernels) {
    heartbeat::phase(120, "reads " + path);
    const Case study = load_case(path);
    const Decomposition parts = decompose(study.network);
    const Mapping mapping = map_tasks(study.network, parts, 1);
    EngineOptions options;
    options.kernels = kernels;
    Engine engine(MPI_COMM_SELF, study.network, parts, mapping, options);
    BlockTimes blocks(o.steps);
    heartbeat::phase(kPatience_s, "steps of " + path);
    for (std::uint64_t i = 0; i < o.steps / 4 + 1; ++i) {
        engine.step();
        heartbeat::beat();
    }
    const Ticks ticks;
    std::uint64_t last = Ticks::now();
    for (std::uint64_t i = 0; i < o.steps; ++i) {
        engine.step();
        heartbeat::beat();
        const std::uint64_t now = Ticks::now();
        blocks.add(now - last);
        last = now;
    }
    const double step_us = median(blocks.step_us(ticks.microseconds_per_tick()));
    const std::string bits = checksum(task_digests(MPI_COMM_SELF, engine, parts.tasks.size()));
    heartbeat::phase(120, "measures the work of " + path);
    const Work work = measure_work(MPI_COMM_SELF, engine);
    return {{"case", path}, {"case_hash", sixteen_digits(study.hash)}, {"checksum", bits}, {"steps", o.steps}, {"tasks", parts.tasks.size()},
            {"bytes_touched", engine.bytes_touched()}, {"step_us", rounded(step_us)}, {"sigma_us", rounded(work.sigma_us)},
            {"phi_us", rounded(work.phi_us)}, {"phi_cached_us", rounded(work.phi_cached_us)}, {"replay_exact", work.exact}};
}

void measure_and_tell(const Mpi& mpi, const CachesOptions& o) {
    const Kernels* kernels = find_kernels("auto");
    const std::vector<int> usable = cores::own();
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(usable.front()), &mask);
    agree(mpi, sched_setaffinity(0, sizeof mask, &mask) == 0 ? "" : "cannot bind to core " + std::to_string(usable.front()));
    const int at_once = o.at_once > 0 ? o.at_once : mpi.size;
    json sizes = json::array();
    for (int first = 0; first < mpi.size; first += at_once) {
        if (mpi.rank >= first && mpi.rank < first + at_once)
            for (const std::string& path : o.case_paths) sizes.push_back(measured(path, o, kernels));
        wait_for_all();
    }
    heartbeat::phase(kPatience_s, "gathers the figures");
    const json own{{"node", own_node()}, {"core", usable.front()}, {"caches", caches_of(usable.front())}, {"sizes", sizes}};
    const std::string texts = gathered(mpi, own.dump() + "\n");
    if (mpi.rank != 0) return;
    json nodes = json::array();
    for (std::size_t from = 0, to = 0; (to = texts.find('\n', from)) != std::string::npos; from = to + 1)
        nodes.push_back(json::parse(texts.substr(from, to - from)));
    const json result{{"format", "kappa-emt-caches"}, {"version", 1}, {"ranks", mpi.size}, {"isa", kernels->name}, {"nodes", nodes}};
    write_file(o.result_path, result.dump(1) + "\n");
}

}  // namespace

int caches_command(const CachesOptions& options, int argc, char** argv) {
    const Mpi mpi(argc, argv);
    try {
        measure_and_tell(mpi, options);
    } catch (const std::exception& e) {
        abort_all(mpi, e.what());
    }
    return 0;
}

}  // namespace emt
