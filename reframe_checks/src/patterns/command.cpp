// pattern: communication patterns of RDMA and messages. Each pattern is a subcommand with its own file, which describes
// it.
//
// Every received message is compared with the sent one; a wrong byte ends the program with its place.

#include "common/subcommand.hpp"
#include "patterns/patterns.hpp"

namespace measure::patterns {
namespace {

void add_common(CLI::App& app, Options& options) {
    add_output(app, options);
    add_timeout(app, options);
    app.add_option("--iterations", options.iterations, "timed")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
    app.add_option("--ranks-per-node", options.ranks_per_node, "number of ranks on each node, placed node by node; 0: ask MPI")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
}

void add_random_ring(CLI::App& app, RandomRing& ring) {
    app.add_option("--way", ring.way)->check(CLI::IsMember({"isend", "put", "get"}))->capture_default_str();
    app.add_option("--bytes", ring.bytes, "to each neighbour")->check(CLI::Range(1, 1 << 30))->capture_default_str();
}

void add_barrier(CLI::App& app, Barrier& barrier) {
    app.add_option("--algorithm", barrier.algorithm)->check(CLI::IsMember({"ring", "recursive-doubling"}))->capture_default_str();
}

void add_particles(CLI::App& app, Particles& particles) {
    app.add_option("--barrier", particles.barrier, "place of the barrier: before or after packing")
        ->check(CLI::IsMember({"before", "after"}))->capture_default_str();
    app.add_option("--within-nodes", particles.within_nodes, "whether to put data that stay in a node: yes or no")
        ->capture_default_str();
    app.add_option("--drawn", particles.drawn, "number of drawn particles")->check(CLI::Range(1000, 1 << 26))->capture_default_str();
    app.add_option("--drift", particles.drift, "standard deviation of a particle's path, relative to the box")
        ->check(CLI::Range(1e-6, 1.0))->capture_default_str();
    app.add_option("--record-bytes", particles.record_bytes, "bytes that each drawn particle represents")
        ->check(CLI::Range(8, 1 << 20))->capture_default_str();
    app.add_option("--pack-gb-s", particles.pack_gb_s, "rate of packing in a simulation; 0: packing takes no time")
        ->check(CLI::Range(0.0, 1e6))->capture_default_str();
}

void add_neighbour(CLI::App& app, Neighbour& neighbour) {
    app.add_option("--message", neighbour.message, "one message for each pair of ranks, or for each line between them")
        ->check(CLI::IsMember({"pair", "line"}))->capture_default_str();
    app.add_option("--graph", neighbour.graph, "file with lines RANK RANK LINES BYTES")->required();
}

void add_allreduce(CLI::App& app, AllReduce& allreduce) {
    app.add_option("--where", allreduce.where)->check(CLI::IsMember({"host", "in-network"}))->capture_default_str();
    auto* tree = app.add_option("--tree", allreduce.tree, "file with a line AGGREGATOR: CHILD CHILD ... for each of the last ranks");
    app.add_option("--level-latency-us", allreduce.level_latency_us, "latency of each level of the tree")->needs(tree)
        ->check(CLI::Range(0.0, 1e6))->capture_default_str();
    app.add_option("--largest-bytes", allreduce.largest_bytes, "largest size; sizes double from 8 bytes")
        ->check(CLI::Range(8, 1 << 28))->capture_default_str();
    app.add_option("--segment-bytes", allreduce.segment_bytes, "largest piece that an aggregator adds at a time")
        ->check(CLI::Range(8, 1 << 28))->capture_default_str();
}

}  // namespace

std::vector<Subcommand> define(CLI::App& app) {
    const auto common = std::make_shared<Options>();
    CLI::App& all = *app.add_subcommand("pattern", "communication patterns on all ranks");
    all.require_subcommand(1);
    all.fallthrough();
    add_common(all, *common);
    // A pattern with its own options.
    const auto one = [&]<typename Own>(const char* name, const char* what, void (*measure)(const Run&, const Own&),
                                       void (*add)(CLI::App&, Own&)) {
        const auto own = std::make_shared<Own>();
        CLI::App& sub = *all.add_subcommand(name, what);
        add(sub, *own);
        return Subcommand{&sub, common, [own, measure](const Run& run) {
            run.require_several_ranks();
            // All ranks exchange messages before any timing.
            static_cast<void>(run.node_of());
            measure(run, *own);
        }};
    };
    return {
        one("random-ring", "2 MB to both neighbours in a ring of random order", random_ring, add_random_ring),
        one("barrier", "barrier by puts of one word", barrier, add_barrier),
        one("particles", "puts of particles after a domain decomposition", particles, add_particles),
        one("neighbour", "messages on a task graph", neighbour, add_neighbour),
        one("allreduce", "sums over all ranks", allreduce, add_allreduce),
    };
}

}  // namespace measure::patterns
