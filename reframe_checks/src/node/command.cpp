// node: memory bandwidth and floating-point speed of the cores of every node.
//
//   cores   each core alone, and all cores of its node together
//   fills   all cores, half, a quarter and one of them, while the others are idle
//   numa    the cores of each NUMA domain on the memory of each, and the latency of that memory

#include <algorithm>
#include <cstdio>
#include <set>

#include "common/on_cores.hpp"
#include "common/subcommand.hpp"
#include "node/cores.hpp"
#include "node/numa.hpp"

namespace measure::node {
namespace {

struct Settings {
    std::size_t mib_per_core = 192;
    double seconds = 0.5;
    int at_once = 0;
    std::size_t latency_mib = 256;
};

json as_json(const std::vector<CoreSpeeds>& cores) {
    json triad = json::array();
    json gflops = json::array();
    json steady = json::array();
    for (const CoreSpeeds& core : cores) {
        triad.push_back(rounded(core.triad_mbps));
        gflops.push_back(rounded(core.gflops));
        steady.push_back(rounded(core.steady));
    }
    return {{"triad_MBps", triad}, {"gflops", gflops}, {"steady", steady}};
}

json cores_of_node(const std::string& name, const Settings& settings) {
    const std::vector<int> cores = own_cores();
    const std::size_t bytes = settings.mib_per_core << 20U;
    // Times two kernels; allocates their memory before.
    const double limit_s = kPatience_s + 10 * settings.seconds;
    std::vector<CoreSpeeds> alone;
    for (const int core : cores) {
        heartbeat::phase(limit_s, "core " + std::to_string(core) + " alone");
        alone.push_back(measure_cores({core}, bytes, settings.seconds / 10).front());
    }
    heartbeat::phase(limit_s, "all cores together");
    const std::vector<CoreSpeeds> together = measure_cores(cores, bytes, settings.seconds);
    json wrong = json::array();
    for (std::size_t i = 0; i < cores.size(); ++i) {
        if (!alone[i].correct || !together[i].correct) {
            wrong.push_back(cores[i]);
        }
    }
    return {{"node", name}, {"cores", cores}, {"alone", as_json(alone)}, {"together", as_json(together)}, {"wrong", wrong}};
}

json fills_of_node(const std::string& name, const Settings& settings) {
    const std::vector<Core> cores = cores_by_domain();
    json numbers = json::array();
    json domains = json::array();
    for (const Core& core : cores) {
        numbers.push_back(core.number);
        domains.push_back(core.domain);
    }
    const long memory_mib = available_mib();
    json found = json::array();
    std::set<int> wrong;
    for (const Fill& fill : measure_fills(cores, settings.mib_per_core << 20U, settings.seconds)) {
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
    return {{"node", name}, {"cores", numbers}, {"domains", domains}, {"available_MiB", memory_mib}, {"fills", found}, {"wrong", wrong}};
}

json memory_of_node(const std::string& name, const Settings& settings) {
    const std::vector<Core> cores = cores_by_domain();
    json pairs = json::array();
    for (const MemoryPath& path : measure_paths(cores, settings.mib_per_core << 20U, settings.latency_mib << 20U, settings.seconds)) {
        pairs.push_back({{"cores", path.cores_domain}, {"memory", path.memory_domain},
                         {"distance", distance(path.cores_domain, path.memory_domain)},
                         {"triad_MBps", rounded(path.triad_mbps)}, {"latency_ns", rounded(path.latency_ns)},
                         {"correct", path.correct}});
    }
    return {{"node", name}, {"domains", domains(cores)}, {"pairs", pairs}};
}

template <typename OfNode>
void measure(const Run& run, const Settings& settings, const OfNode& of_node) {
    require_one_rank_per_node(run.node_names());
    const int at_once = settings.at_once > 0 ? settings.at_once : run.size();
    json own;
    for (int first = 0; first < run.size(); first += at_once) {
        if (run.rank() >= first && run.rank() < first + at_once) {
            own = of_node(run.node_names()[at(run.rank())], settings);
        }
        run.world().barrier();
        if (run.rank() == 0) {
            std::fprintf(stderr, "%d of %d nodes\n", std::min(first + at_once, run.size()), run.size());
        }
    }
    heartbeat::phase(kPatience_s, "gathers the figures");
    run.write({{"mib_per_core", settings.mib_per_core}, {"nodes", run.gathered(own)}}, {"nodes"});
}

}  // namespace

std::vector<Subcommand> define(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    const auto settings = std::make_shared<Settings>();
    CLI::App& all = *app.add_subcommand("node", "memory bandwidth (STREAM triad) and floating-point speed (fused multiply-add).\n"
                                                "Start one rank on each node with all of its cores");
    all.require_subcommand(1);
    all.fallthrough();
    add_output(all, *options);
    all.add_option("--mib-per-core", settings->mib_per_core, "size of the triad's arrays; at least four times the last-level cache")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    all.add_option("--seconds", settings->seconds, "duration of each kernel; a tenth of it on each core alone")
        ->check(CLI::Range(0.001, 600.0))->capture_default_str();
    all.add_option("--at-once", settings->at_once, "number of nodes that are measured at the same time; 0: all")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
    const auto one = [&](const char* name, const char* what, json (*of_node)(const std::string&, const Settings&)) {
        return Subcommand{all.add_subcommand(name, what), options,
                          [settings, of_node](const Run& run) { measure(run, *settings, of_node); }};
    };
    const Subcommand cores = one("cores", "every core, alone and with all cores of its node", cores_of_node);
    const Subcommand fills = one("fills", "all cores, half, a quarter and one of them", fills_of_node);
    const Subcommand numa = one("numa", "the cores of each NUMA domain with the memory of each domain", memory_of_node);
    numa.parsed->add_option("--latency-mib", settings->latency_mib, "memory of the chain of loads; larger than the caches")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    return {cores, fills, numa};
}

}  // namespace measure::node
