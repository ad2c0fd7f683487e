// pattern: communication patterns of RDMA and messages, each a subcommand and a file of its own, which says what is measured.
//
// Rank 0 writes one JSON document. What arrives is compared with what was sent; a wrong byte ends the program with its place.

#ifdef SMPI_HELPERS_H
#undef exit  // smpicxx's macro, which would be the name of a member of CLI::App
#endif

#include <CLI/CLI.hpp>

#include "in_world.hpp"
#include "programs.hpp"

namespace {

using namespace patterns;

struct All {
    Options common;
    RandomRing random_ring;
    Barrier barrier;
    Particles particles;
    Neighbour neighbour;
    AllReduce allreduce;
    Congestion congestion;
};

void define_common(CLI::App& app, Options& options) {
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0; -: standard output")->capture_default_str();
    app.add_option("--iterations", options.iterations, "timed")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--seed", options.seed, "of what is random")->capture_default_str();
    app.add_option("--timeout-s", options.timeout_s, "no wait lasts longer: the program ends and says for whom it waited")
        ->check(CLI::Range(0.001, 86400.0))->capture_default_str();
    app.add_option("--ranks-per-node", options.ranks_per_node, "ranks are placed node by node, so many on each; 0: MPI tells")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
}

void define(CLI::App& app, All& all) {
    define_common(app, all.common);
    app.require_subcommand(1);
    app.fallthrough();

    auto* ring = app.add_subcommand("random-ring", "2 MB to both neighbours in a ring of random order");
    ring->add_option("--way", all.random_ring.way)->check(CLI::IsMember({"isend", "put", "get"}))->capture_default_str();
    ring->add_option("--bytes", all.random_ring.bytes, "to each neighbour")->check(CLI::Range(1, 1 << 30))->capture_default_str();

    auto* barrier = app.add_subcommand("barrier", "barrier by puts of one word");
    barrier->add_option("--algorithm", all.barrier.algorithm)
        ->check(CLI::IsMember({"ring", "recursive-doubling"}))->capture_default_str();

    Particles& particles = all.particles;
    auto* exchange = app.add_subcommand("particles", "puts of particles after a domain decomposition");
    exchange->add_option("--barrier", particles.barrier, "where the ranks wait for each other: before or after packing")
        ->check(CLI::IsMember({"before", "after"}))->capture_default_str();
    exchange->add_option("--within-nodes", particles.within_nodes, "whether what stays in a node is put, too: yes or no")
        ->capture_default_str();
    exchange->add_option("--drawn", particles.drawn, "particles that are drawn")->check(CLI::Range(1000, 1 << 26))->capture_default_str();
    exchange->add_option("--drift", particles.drift, "standard deviation of a particle's way, of the box")
        ->check(CLI::Range(1e-6, 1.0))->capture_default_str();
    exchange->add_option("--record-bytes", particles.record_bytes, "that each drawn particle stands for")
        ->check(CLI::Range(8, 1 << 20))->capture_default_str();
    exchange->add_option("--pack-gb-s", particles.pack_gb_s, "in a simulation, how fast packing is; 0: takes no time")
        ->check(CLI::Range(0.0, 1e6))->capture_default_str();

    auto* graph = app.add_subcommand("neighbour", "messages on a task graph");
    graph->add_option("--message", all.neighbour.message, "one message for each pair of ranks, or for each line between them")
        ->check(CLI::IsMember({"pair", "line"}))->capture_default_str();
    graph->add_option("--graph", all.neighbour.graph, "file with lines RANK RANK LINES BYTES")->required();

    AllReduce& allreduce = all.allreduce;
    auto* sums = app.add_subcommand("allreduce", "sums over all ranks");
    sums->add_option("--where", allreduce.where)->check(CLI::IsMember({"host", "in-network"}))->capture_default_str();
    auto* tree = sums->add_option("--tree", allreduce.tree, "file with a line AGGREGATOR: CHILD CHILD ... for each of the last ranks");
    sums->add_option("--level-latency-us", allreduce.level_latency_us, "of each level of the tree")->needs(tree)
        ->check(CLI::Range(0.0, 1e6))->capture_default_str();
    sums->add_option("--largest-bytes", allreduce.largest_bytes, "sizes double from 8 bytes on")
        ->check(CLI::Range(8, 1 << 28))->capture_default_str();
    sums->add_option("--segment-bytes", allreduce.segment_bytes, "most that an aggregator adds up at once")
        ->check(CLI::Range(8, 1 << 28))->capture_default_str();

    Congestion& congestion = all.congestion;
    auto* beside = app.add_subcommand("congestion", "latency, bandwidth and sums of some nodes beside the others' load");
    beside->add_option("--loads", congestion.loads, "one after the other")->delimiter(',')
        ->check(CLI::IsMember({"compute", "all-to-all", "incast", "put-incast", "broadcast"}))->capture_default_str();
    beside->add_option("--victims", congestion.victims, "share of the nodes")->check(CLI::Range(0.001, 0.999))->capture_default_str();
    beside->add_option("--aggressor-bytes", congestion.aggressor_bytes, "of an aggressor's message")
        ->check(CLI::Range(1, 1 << 26))->capture_default_str();
    beside->add_option("--rounds", congestion.rounds, "of samples alone and beside")->check(CLI::Range(1, 1000))->capture_default_str();
}

void act(const CLI::App& app, const All& all, const sweep::World& world) {
    const Run run(world, all.common);
    const std::string chosen = app.get_subcommands().front()->get_name();
    if (chosen == "random-ring") {
        random_ring(run, all.random_ring);
    } else if (chosen == "barrier") {
        barrier(run, all.barrier);
    } else if (chosen == "particles") {
        particles(run, all.particles);
    } else if (chosen == "neighbour") {
        neighbour(run, all.neighbour);
    } else if (chosen == "allreduce") {
        allreduce(run, all.allreduce);
    } else {
        congestion(run, all.congestion);
    }
}

}  // namespace

int main(int argc, char** argv) {
    All all;
    CLI::App app{"Communication patterns on all ranks, for instance: srun pattern random-ring --way put"};
    define(app, all);
    CLI11_PARSE(app, argc, argv);
    sweep::in_world("pattern", &argc, &argv, [&](const sweep::World& world) { act(app, all, world); });
    return 0;
}
