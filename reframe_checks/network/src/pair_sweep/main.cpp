// pair_sweep: latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time. Of more nodes
// than are asked for as the most, a sample of the pairs (sampled_schedule.hpp).
//
// Every message is compared with what its sender has sent, outside of what is timed, and so are the results of collectives
// over all ranks after the pairs.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "collectives.hpp"
#include "crc32.hpp"
#include "in_world.hpp"
#include "json_text.hpp"
#include "node_names.hpp"
#include "sampled_schedule.hpp"
#include "sampled_sweep.hpp"
#include "sweep_all.hpp"
#include "world.hpp"
#include "write_file.hpp"

namespace {

using nlohmann::json;

constexpr int kAloneRepeats = 3;  // of which the best counts
constexpr int kCollectiveRepeats = 5;
constexpr int kCollectiveGroup = 64;  // ranks that make collectives together where pairs are sampled

struct Options {
    Settings settings;
    double alone_share = 0.5;
    int alone_most = 32;
    int block_bytes = 1 << 16;
    int sample_above = std::numeric_limits<int>::max();
    int rounds = 200;
    std::uint64_t seed = 1;
    std::filesystem::path leaves;
    int schedule_only = 0;
    std::filesystem::path output = "pair_sweep.json";
};

void define(CLI::App& app, Options& options) {
    Settings& settings = options.settings;
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0")->capture_default_str();
    app.add_option("--latency-bytes", settings.latency_bytes, "size of the small message")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    app.add_option("--round-trips", settings.round_trips, "round trips of the small message, of which the median counts")
        ->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--bandwidth-bytes", settings.bandwidth_bytes, "size of the large message")
        ->check(CLI::Range(1, 1 << 30))->capture_default_str();
    app.add_option("--window", settings.window, "large messages in flight")
        ->check(CLI::Range(1, 1024))->capture_default_str();
    app.add_option("--repeats", settings.repeats, "windows in each direction, of which the median counts")
        ->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--seconds", settings.seconds, "at most for each measurement of a pair")
        ->check(CLI::Range(0.001, 600.0))->capture_default_str();
    app.add_option("--alone-share", options.alone_share,
                   "measure a pair again alone when it is below this share of the median pair; 0: none")
        ->check(CLI::Range(0.0, 1.0))->capture_default_str();
    app.add_option("--block-bytes", options.block_bytes, "what each rank gives to each in the collectives, whose content is compared")
        ->check(CLI::Range(8, 1 << 24))->capture_default_str();
    app.add_option("--alone-most", options.alone_most, "at most so many pairs alone, the worst")
        ->check(CLI::Range(0, 500))->capture_default_str();
    app.add_option("--sample-above", options.sample_above,
                   "measure a sample of the pairs where there are more nodes than this; figures go into a file beside the output, "
                   "with the suffix .bin")
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    app.add_option("--rounds", options.rounds, "rounds of a sample, a quarter of them at most within leaf switches")
        ->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--seed", options.seed, "of a sample: another number, other pairs")->capture_default_str();
    app.add_option("--leaves", options.leaves, "of a sample: file with the leaf switch of each node, lines of NODE LEAF; without it "
                   "all rounds are of random pairs");
    app.add_option("--schedule-only", options.schedule_only,
                   "measure nothing, print the rounds of a sample of nodes 0 to N-1: a line each, FIRST-SECOND of every pair")
        ->check(CLI::Range(2, 1'000'000));
}

SampledSchedule schedule_of(const Options& options, const std::vector<std::string>& nodes) {
    const std::vector<int> leaves = options.leaves.empty() ? std::vector<int>(nodes.size(), kNoLeaf) : read_leaves(options.leaves, nodes);
    return {leaves, options.rounds, options.seed};
}

void print_schedule(const Options& options) {
    std::vector<std::string> nodes;
    for (int node = 0; node < options.schedule_only; ++node) {
        nodes.push_back(std::to_string(node));
    }
    const SampledSchedule schedule = schedule_of(options, nodes);
    for (int number = 0; number < schedule.rounds(); ++number) {
        std::string line;
        for (const Pair& pair : schedule.round(number)) {
            line += (line.empty() ? "" : " ") + std::to_string(pair.first) + "-" + std::to_string(pair.second);
        }
        std::puts(line.c_str());
    }
}

json rows(const std::vector<double>& values, std::size_t nodes) {
    json matrix = json::array();
    for (std::size_t start = 0; start < values.size(); start += nodes) {
        json row = json::array();
        for (std::size_t column = 0; column < nodes; ++column) {
            row.push_back(sweep::rounded(values[start + column]));
        }
        matrix.push_back(std::move(row));
    }
    return matrix;
}

// Of the pairs of each round, packets that both nodes sent meanwhile, and how many of them got lost; messages whose content
// was compared in this round and alone, and how many of them had another.
void add_counts(json& rounds, const Matrices& matrices, const Matrices& at_end, std::size_t nodes) {
    const auto both = [nodes](const std::vector<double>& counts, const json& pair) {
        const auto first = pair[0].get<std::size_t>();
        const auto second = pair[1].get<std::size_t>();
        return static_cast<std::uint64_t>(counts[first * nodes + second] + counts[second * nodes + first]);
    };
    for (json& round : rounds) {
        for (const json& pair : round["pairs"]) {
            round["packets_sent"].push_back(both(matrices.packets_sent, pair));
            round["packets_lost"].push_back(both(matrices.packets_lost, pair));
            round["messages"].push_back(both(at_end.messages, pair));
            round["wrong_messages"].push_back(both(at_end.wrong_messages, pair));
        }
    }
}

json measured_in_rounds(Sweep& sweep, const Layout& layout, bool speaks) {
    json rounds = json::array();
    const auto schedule = tournament(static_cast<int>(layout.nodes.size()));
    for (const Round& round : schedule) {
        const double seconds = sweep.run(round.pairs);
        json pairs = json::array();
        for (const Pair& pair : round.pairs) {
            pairs.push_back({pair.first, pair.second});
        }
        rounds.push_back({{"round", rounds.size() + 1},
                          {"pairs", std::move(pairs)},
                          {"idle", round.idle ? json(*round.idle) : json()},
                          {"seconds", sweep::rounded(seconds)}});
        if (speaks) {
            std::fprintf(stderr, "round %zu of %zu: %.3f s\n", rounds.size(), schedule.size(), seconds);
        }
    }
    return rounds;
}

// The nodes of the blocks that did not arrive as they should.
json checked_collectives(const sweep::World& world, const Layout& layout, const Options& options, int group) {
    std::vector<int> node_of(static_cast<std::size_t>(world.size()));
    for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
        for (const int rank : layout.ranks[node]) {
            node_of[static_cast<std::size_t>(rank)] = static_cast<int>(node);
        }
    }
    const auto node = [&node_of](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
    json found = json::array();
    for (const auto& [operation, wrong] : check_collectives(world, options.block_bytes, kCollectiveRepeats, group)) {
        json blocks = json::array();
        for (const WrongBlock& block : wrong) {
            blocks.push_back({node(block.sender), node(block.receiver)});
        }
        found.push_back({{"operation", operation}, {"wrong_blocks", wrong.size()}, {"from_to", blocks}});
    }
    return found;
}

// Of what rank 0 has found, measures again alone what stands out; every rank then knows these pairs.
std::vector<Pair> measure_alone(Sweep& sweep, const std::vector<PairFigures>& figures, const Options& options, int rank) {
    std::vector<Pair> pairs;
    if (rank == 0 && options.alone_share > 0) {
        pairs = outstanding(figures, options.alone_share, static_cast<std::size_t>(options.alone_most));
    }
    auto count = static_cast<int>(pairs.size());
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pairs.resize(static_cast<std::size_t>(count));
    MPI_Bcast(pairs.data(), 2 * count, MPI_INT, 0, MPI_COMM_WORLD);
    // Repeats of a pair are apart in time, so that what disturbs one does not disturb all.
    for (int repeat = 0; repeat < kAloneRepeats; ++repeat) {
        for (const Pair& pair : pairs) {
            sweep.run({pair});
        }
    }
    return pairs;
}

json alone_entry(const Layout& layout, const PairFigures& figures) {
    return {{"first", layout.nodes[static_cast<std::size_t>(figures.pair.first)]},
            {"second", layout.nodes[static_cast<std::size_t>(figures.pair.second)]},
            {"latency_us", sweep::rounded(figures.latency_us)},
            {"to_second_MBps", sweep::rounded(figures.to_second_mbps)},
            {"to_first_MBps", sweep::rounded(figures.to_first_mbps)}};
}

// What every document has: how it was measured, on which nodes.
json head(const char* format, int version, const Layout& layout, const Options& options) {
    return {
        {"format", format},
        {"version", version},
        {"mpi", sweep::World::library()},
        {"nodes", layout.nodes},
        {"ranks_per_node", layout.slots},
        {"latency_bytes", options.settings.latency_bytes},
        {"bandwidth_bytes", options.settings.bandwidth_bytes},
        {"window", options.settings.window},
    };
}

/// Of the names, each with an end of line: a figure is of the node whose number it has, so their order counts.
std::uint32_t checksum_of(const std::vector<std::string>& nodes) {
    Crc32 checksum;
    for (const std::string& node : nodes) {
        const std::string line = node + '\n';
        checksum.add(std::as_bytes(std::span(line)));
    }
    return checksum.value();
}

void measure_sample(const sweep::World& world, const Layout& layout, const Options& options) {
    const SampledSchedule schedule = schedule_of(options, layout.nodes);
    std::filesystem::path file = options.output;
    file.replace_extension(".bin");
    Sweep sweep(world, layout, options.settings);
    const Samples samples = measure_samples(sweep, world, layout, schedule, file);
    const std::vector<Pair> again = measure_alone(sweep, samples.figures, options, world.rank());
    json alone = json::array();
    for (const PairFigures& figures : sweep.take(again)) {
        alone.push_back(alone_entry(layout, figures));
        alone.back().update({{"messages", static_cast<std::uint64_t>(figures.messages)},
                             {"wrong_messages", static_cast<std::uint64_t>(figures.wrong_messages)}});
    }
    const json collectives = checked_collectives(world, layout, options, std::min(world.size(), kCollectiveGroup));
    if (world.rank() != 0) {
        return;
    }
    json rounds = json::array();
    for (const SampledRound& round : samples.rounds) {
        rounds.push_back({{"round", rounds.size() + 1}, {"pairs", round.pairs}, {"seconds", sweep::rounded(round.seconds)}});
    }
    json document = head("kappa-pair-samples", 1, layout, options);
    document.update({
        {"seed", std::to_string(options.seed)},
        {"rounds_within_leaves", schedule.rounds_within()},
        {"rounds", rounds},
        {"figures_crc32", samples.crc32},
        {"nodes_crc32", checksum_of(layout.nodes)},
        {"alone_pairs", alone.size()},
        {"alone", alone},
        {"operations", collectives.size()},
        {"collectives", collectives},
    });
    sweep::write_file(options.output, sweep::in_lines(document, {"nodes", "rounds", "alone", "collectives"}));
}

void measure(const sweep::World& world, const Options& options) {
    static_assert(sizeof(Pair) == 2 * sizeof(int));
    const Layout layout = lay_out(sweep::node_names(world), world.rank());
    if (layout.nodes.size() < 2) {
        throw std::runtime_error("all ranks are on " + layout.nodes.front() + ": start at least one on each of two nodes");
    }
    if (layout.nodes.size() > static_cast<std::size_t>(options.sample_above)) {
        measure_sample(world, layout, options);
        return;
    }
    Sweep sweep(world, layout, options.settings);
    json rounds = measured_in_rounds(sweep, layout, world.rank() == 0);
    const Matrices matrices = sweep.collect();
    const auto nodes = static_cast<int>(layout.nodes.size());
    const bool leads = world.rank() == 0;
    const auto pairs = measure_alone(sweep, leads ? figures_of_pairs(matrices, nodes) : std::vector<PairFigures>{}, options, world.rank());
    const Matrices at_end = sweep.collect();
    const json collectives = checked_collectives(world, layout, options, world.size());
    if (world.rank() != 0) {
        return;
    }
    add_counts(rounds, matrices, at_end, layout.nodes.size());
    json alone = json::array();
    for (const Pair& pair : pairs) {
        const auto there = static_cast<std::size_t>(pair.first * nodes + pair.second);
        const auto back = static_cast<std::size_t>(pair.second * nodes + pair.first);
        alone.push_back(alone_entry(layout, {pair, at_end.latency_us[there], at_end.bandwidth_mbps[there], at_end.bandwidth_mbps[back]}));
    }
    json document = head("kappa-pair-sweep", 3, layout, options);
    document.update({
        {"rounds", rounds},
        {"latency_us", rows(matrices.latency_us, layout.nodes.size())},
        {"bandwidth_MBps", rows(matrices.bandwidth_mbps, layout.nodes.size())},
        // Two entries cut and joined would pass for one; the number of them tells.
        {"alone_pairs", alone.size()},
        {"alone", alone},
        {"operations", collectives.size()},
        {"collectives", collectives},
    });
    sweep::write_file(options.output, sweep::in_lines(document, {"rounds", "latency_us", "bandwidth_MBps", "collectives"}));
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time.\n"
                 "Start the same number of MPI ranks on every node, for instance: srun --ntasks-per-node=1 pair_sweep"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    if (options.schedule_only > 0) {
        print_schedule(options);
        return 0;
    }
    sweep::in_world("pair_sweep", &argc, &argv, [&options](const sweep::World& world) { measure(world, options); });
    return 0;
}
