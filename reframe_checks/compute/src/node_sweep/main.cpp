// node_sweep: memory bandwidth and floating-point speed of every core of every node, each alone and all together; with --fills
// of all cores, of half, a quarter and one of them, while the others rest; with --numa of the cores of each NUMA domain on the
// memory of each, and the latency of that memory.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cores.hpp"
#include "fills.hpp"
#include "gathered.hpp"
#include "heartbeat.hpp"
#include "in_world.hpp"
#include "json_text.hpp"
#include "node_names.hpp"
#include "numa.hpp"
#include "on_cores.hpp"
#include "world.hpp"
#include "write_file.hpp"

namespace {

using nlohmann::json;

struct Options {
    std::size_t mib_per_core = 192;
    double seconds = 0.5;
    int at_once = 0;
    bool fills = false;
    bool numa = false;
    std::size_t latency_mib = 256;
    std::filesystem::path output = "node_sweep.json";
};

void define(CLI::App& app, Options& options) {
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0")->capture_default_str();
    app.add_option("--mib-per-core", options.mib_per_core,
                   "size of the triad's arrays; four times the last-level cache or more")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    app.add_option("--seconds", options.seconds, "duration of each kernel with all cores; a tenth of it on each core alone")
        ->check(CLI::Range(0.001, 600.0))->capture_default_str();
    app.add_option("--at-once", options.at_once, "nodes that are measured at the same time; 0: all")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
    app.add_flag("--fills", options.fills, "all cores, half, a quarter and one of them, in place of each alone");
    app.add_flag("--numa", options.numa, "each domain's cores on each domain's memory, in place of each core alone")->excludes("--fills");
    app.add_option("--latency-mib", options.latency_mib, "memory through which a chain of loads goes; more than the caches hold")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
}

json as_json(const std::vector<CoreSpeeds>& cores) {
    json triad = json::array();
    json gflops = json::array();
    for (const CoreSpeeds& core : cores) {
        triad.push_back(sweep::rounded(core.triad_mbps));
        gflops.push_back(sweep::rounded(core.gflops));
    }
    return {{"triad_MBps", triad}, {"gflops", gflops}};
}

json measure_node(const std::string& name, const Options& options) {
    const std::vector<int> cores = sweep::own_cores();
    const std::size_t bytes = options.mib_per_core << 20U;
    // Two kernels, and their memory before.
    const double limit_s = sweep::kPatience_s + 10 * options.seconds;
    std::vector<CoreSpeeds> alone;
    for (const int core : cores) {
        heartbeat::phase(limit_s, "core " + std::to_string(core) + " alone");
        alone.push_back(measure_cores({core}, bytes, options.seconds / 10).front());
    }
    heartbeat::phase(limit_s, "all cores together");
    const std::vector<CoreSpeeds> together = measure_cores(cores, bytes, options.seconds);
    json wrong = json::array();
    for (std::size_t i = 0; i < cores.size(); ++i) {
        if (!alone[i].correct || !together[i].correct) {
            wrong.push_back(cores[i]);
        }
    }
    return {{"node", name}, {"cores", cores}, {"alone", as_json(alone)}, {"together", as_json(together)}, {"wrong", wrong}};
}

json measure_fills(const std::string& name, const Options& options) {
    const std::vector<fills::Core> cores = fills::own_cores();
    json numbers = json::array();
    json domains = json::array();
    for (const fills::Core& core : cores) {
        numbers.push_back(core.number);
        domains.push_back(core.domain);
    }
    const long available_mib = fills::available_mib();
    json found = json::array();
    std::set<int> wrong;
    for (const fills::Fill& fill : fills::measure(cores, options.mib_per_core << 20U, options.seconds)) {
        json entry = as_json(fill.speeds);
        entry["spread"] = fill.spread;
        entry["active"] = fill.active;
        found.push_back(entry);
        for (std::size_t i = 0; i < fill.active.size(); ++i) {
            if (!fill.speeds[i].correct) {
                wrong.insert(fill.active[i]);
            }
        }
    }
    return {{"node", name}, {"cores", numbers}, {"domains", domains}, {"available_MiB", available_mib}, {"fills", found},
            {"wrong", wrong}};
}

json measure_numa(const std::string& name, const Options& options) {
    const std::vector<fills::Core> cores = fills::own_cores();
    json pairs = json::array();
    for (const numa::Pair& pair : numa::measure(cores, options.mib_per_core << 20U, options.latency_mib << 20U, options.seconds)) {
        pairs.push_back({{"cores", pair.cores_domain}, {"memory", pair.memory_domain},
                         {"distance", numa::distance(pair.cores_domain, pair.memory_domain)},
                         {"triad_MBps", sweep::rounded(pair.triad_mbps)}, {"latency_ns", sweep::rounded(pair.latency_ns)},
                         {"correct", pair.correct}});
    }
    return {{"node", name}, {"domains", numa::domains(cores)}, {"pairs", pairs}};
}

json measure_chosen(const std::string& name, const Options& options) {
    return options.fills ? measure_fills(name, options) : options.numa ? measure_numa(name, options) : measure_node(name, options);
}

void measure(const sweep::World& world, const Options& options) {
    const std::vector<std::string> names = sweep::node_names(world);
    sweep::require_one_rank_per_node(names);
    const int at_once = options.at_once > 0 ? options.at_once : world.size();
    json own;
    for (int first = 0; first < world.size(); first += at_once) {
        if (world.rank() >= first && world.rank() < first + at_once) {
            own = measure_chosen(names[static_cast<std::size_t>(world.rank())], options);
        }
        world.barrier();
        if (world.rank() == 0) {
            std::fprintf(stderr, "%d of %d nodes\n", std::min(first + at_once, world.size()), world.size());
        }
    }
    heartbeat::phase(sweep::kPatience_s, "gathers the figures");
    json nodes = json::array();
    for (const std::string& text : sweep::gathered(own.dump(), world)) {
        nodes.push_back(json::parse(text));
    }
    if (world.rank() == 0) {
        const json document = {{"format", options.fills ? "kappa-node-fills" : options.numa ? "kappa-node-numa" : "kappa-node-sweep"}, {"version", 1},
                               {"mpi", sweep::World::library()}, {"mib_per_core", options.mib_per_core},
                               {"ranks", world.size()},          {"nodes", nodes}};
        sweep::write_file(options.output, sweep::in_lines(document, {"nodes"}));
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Memory bandwidth (STREAM triad) and floating-point speed (fused multiply-add) of every core, alone and\n"
                 "with all cores of its node. Start one MPI rank on each node with all of its cores."};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    sweep::in_world("node_sweep", &argc, &argv, [&options](const sweep::World& world) { measure(world, options); });
    return 0;
}
