// pairs: latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time. Above a given
// number of nodes, it measures a sample of the pairs (schedule.hpp).
//
// Every message is compared with the sent one, outside of the timed part. After the pairs, so are the results of
// collectives over all ranks.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>

#include "common/subcommand.hpp"
#include "pairs/collectives.hpp"
#include "pairs/crc32.hpp"
#include "pairs/sampled_sweep.hpp"
#include "pairs/sweep_all.hpp"

namespace measure::pairs {
namespace {

constexpr int kAloneRepeats = 3;  // the best one counts
constexpr int kCollectiveRepeats = 5;
constexpr int kCollectiveGroup = 64;  // ranks per collective if pairs are sampled

struct Chosen {
    Settings settings;
    double alone_share = 0.5;
    int alone_most = 32;
    int block_bytes = 1 << 16;
    int sample_above = std::numeric_limits<int>::max();
    int rounds = 200;
    std::uint64_t seed = 1;
    std::filesystem::path leaves;
    int schedule_only = 0;
};

SampledSchedule schedule_of(const Chosen& chosen, const std::vector<std::string>& nodes) {
    const std::vector<int> leaves = chosen.leaves.empty() ? std::vector<int>(nodes.size(), kNoLeaf) : read_leaves(chosen.leaves, nodes);
    return {leaves, chosen.rounds, chosen.seed};
}

void print_schedule(const Chosen& chosen) {
    std::vector<std::string> nodes;
    for (int node = 0; node < chosen.schedule_only; ++node) {
        nodes.push_back(std::to_string(node));
    }
    const SampledSchedule schedule = schedule_of(chosen, nodes);
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
            row.push_back(rounded(values[start + column]));
        }
        matrix.push_back(std::move(row));
    }
    return matrix;
}

// Adds to the pairs of each round: packets that both nodes sent meanwhile, and lost packets; messages compared in this
// round and alone, and messages with wrong content.
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
                          {"seconds", rounded(seconds)}});
        if (speaks) {
            std::fprintf(stderr, "round %zu of %zu: %.3f s\n", rounds.size(), schedule.size(), seconds);
        }
    }
    return rounds;
}

// Runs the collectives; returns the nodes of wrong blocks.
json checked_collectives(const World& world, const Layout& layout, const Chosen& chosen, int group) {
    std::vector<int> node_of(static_cast<std::size_t>(world.size()));
    for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
        for (const int rank : layout.ranks[node]) {
            node_of[static_cast<std::size_t>(rank)] = static_cast<int>(node);
        }
    }
    const auto node = [&node_of](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
    json found = json::array();
    for (const auto& [operation, wrong] : check_collectives(world, chosen.block_bytes, kCollectiveRepeats, group)) {
        json blocks = json::array();
        for (const WrongBlock& block : wrong) {
            blocks.push_back({node(block.sender), node(block.receiver)});
        }
        found.push_back({{"operation", operation}, {"wrong_blocks", wrong.size()}, {"from_to", blocks}});
    }
    return found;
}

// Re-measures alone the outstanding pairs that rank 0 found; every rank then knows these pairs.
std::vector<Pair> measure_alone(Sweep& sweep, const std::vector<PairFigures>& figures, const Chosen& chosen, int rank) {
    std::vector<Pair> pairs;
    if (rank == 0 && chosen.alone_share > 0) {
        pairs = outstanding(figures, chosen.alone_share, static_cast<std::size_t>(chosen.alone_most));
    }
    auto count = static_cast<int>(pairs.size());
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pairs.resize(static_cast<std::size_t>(count));
    MPI_Bcast(pairs.data(), 2 * count, MPI_INT, 0, MPI_COMM_WORLD);
    // Repeats of a pair are apart in time, so that a disturbance does not affect all.
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
            {"latency_us", rounded(figures.latency_us)},
            {"to_second_MBps", rounded(figures.to_second_mbps)},
            {"to_first_MBps", rounded(figures.to_first_mbps)}};
}

// Returns the common part of both documents: kind of pairs, settings, nodes.
json head(const char* pairs, const Layout& layout, const Chosen& chosen) {
    return {
        {"pairs", pairs},
        {"nodes", layout.nodes},
        {"ranks_per_node", layout.slots},
        {"latency_bytes", chosen.settings.latency_bytes},
        {"bandwidth_bytes", chosen.settings.bandwidth_bytes},
        {"window", chosen.settings.window},
    };
}

// Returns the checksum of the names, each with a line end: figures refer to nodes by number, so the order counts.
std::uint32_t checksum_of(const std::vector<std::string>& nodes) {
    Crc32 checksum;
    for (const std::string& node : nodes) {
        const std::string line = node + '\n';
        checksum.add(std::as_bytes(std::span(line)));
    }
    return checksum.value();
}

void measure_sample(const Run& run, const Layout& layout, const Chosen& chosen) {
    if (run.options().output == "-") {
        throw std::runtime_error("a sample needs --output FILE, because its figures go into a file beside it");
    }
    const World& world = run.world();
    const SampledSchedule schedule = schedule_of(chosen, layout.nodes);
    std::filesystem::path file = run.options().output;
    file.replace_extension(".bin");
    Sweep sweep(world, layout, chosen.settings);
    const Samples samples = measure_samples(sweep, world, layout, schedule, file);
    const std::vector<Pair> again = measure_alone(sweep, samples.figures, chosen, world.rank());
    json alone = json::array();
    for (const PairFigures& figures : sweep.take(again)) {
        alone.push_back(alone_entry(layout, figures));
        alone.back().update({{"messages", static_cast<std::uint64_t>(figures.messages)},
                             {"wrong_messages", static_cast<std::uint64_t>(figures.wrong_messages)}});
    }
    const json collectives = checked_collectives(world, layout, chosen, std::min(world.size(), kCollectiveGroup));
    json rounds = json::array();
    for (const SampledRound& round : samples.rounds) {
        rounds.push_back({{"round", rounds.size() + 1}, {"pairs", round.pairs}, {"seconds", rounded(round.seconds)}});
    }
    json document = head("sample", layout, chosen);
    document.update({
        {"seed", std::to_string(chosen.seed)},
        {"rounds_within_leaves", schedule.rounds_within()},
        {"rounds", rounds},
        {"figures_crc32", samples.crc32},
        {"nodes_crc32", checksum_of(layout.nodes)},
        {"alone_pairs", alone.size()},
        {"alone", alone},
        {"operations", collectives.size()},
        {"collectives", collectives},
    });
    run.write(document, {"nodes", "rounds", "alone", "collectives"});
}

void measure(const Run& run, const Chosen& chosen) {
    static_assert(sizeof(Pair) == 2 * sizeof(int));
    const World& world = run.world();
    const Layout layout = lay_out(run.node_names(), world.rank());
    if (layout.nodes.size() < 2) {
        throw std::runtime_error("all ranks are on " + layout.nodes.front() + ": start at least one on each of two nodes");
    }
    if (layout.nodes.size() > static_cast<std::size_t>(chosen.sample_above)) {
        measure_sample(run, layout, chosen);
        return;
    }
    Sweep sweep(world, layout, chosen.settings);
    json rounds = measured_in_rounds(sweep, layout, world.rank() == 0);
    const Matrices matrices = sweep.collect();
    const auto nodes = static_cast<int>(layout.nodes.size());
    const bool leads = world.rank() == 0;
    const auto pairs = measure_alone(sweep, leads ? figures_of_pairs(matrices, nodes) : std::vector<PairFigures>{}, chosen, world.rank());
    const Matrices at_end = sweep.collect();
    const json collectives = checked_collectives(world, layout, chosen, world.size());
    if (!leads) {
        run.write({});
        return;
    }
    add_counts(rounds, matrices, at_end, layout.nodes.size());
    json alone = json::array();
    for (const Pair& pair : pairs) {
        const auto there = static_cast<std::size_t>(pair.first * nodes + pair.second);
        const auto back = static_cast<std::size_t>(pair.second * nodes + pair.first);
        alone.push_back(alone_entry(layout, {pair, at_end.latency_us[there], at_end.bandwidth_mbps[there], at_end.bandwidth_mbps[back]}));
    }
    json document = head("all", layout, chosen);
    document.update({
        {"rounds", rounds},
        {"latency_us", rows(matrices.latency_us, layout.nodes.size())},
        {"bandwidth_MBps", rows(matrices.bandwidth_mbps, layout.nodes.size())},
        // The number reveals two entries that were cut and joined.
        {"alone_pairs", alone.size()},
        {"alone", alone},
        {"operations", collectives.size()},
        {"collectives", collectives},
    });
    run.write(document, {"rounds", "latency_us", "bandwidth_MBps", "collectives"});
}

}  // namespace

std::vector<Subcommand> define(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    const auto chosen = std::make_shared<Chosen>();
    CLI::App& sub = *app.add_subcommand(
        "pairs", "latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time.\n"
                 "Start the same number of ranks on every node");
    Settings& settings = chosen->settings;
    add_output(sub, *options);
    sub.add_option("--latency-bytes", settings.latency_bytes, "size of the small message")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    sub.add_option("--round-trips", settings.round_trips, "round trips of the small message; the median counts")
        ->check(CLI::Range(1, 1'000'000))->capture_default_str();
    sub.add_option("--bandwidth-bytes", settings.bandwidth_bytes, "size of the large message")
        ->check(CLI::Range(1, 1 << 30))->capture_default_str();
    sub.add_option("--window", settings.window, "large messages in flight")
        ->check(CLI::Range(1, 1024))->capture_default_str();
    sub.add_option("--repeats", settings.repeats, "windows in each direction; the median counts")
        ->check(CLI::Range(1, 1000))->capture_default_str();
    sub.add_option("--seconds", settings.seconds, "longest time of each measurement of a pair")
        ->check(CLI::Range(0.001, 600.0))->capture_default_str();
    sub.add_option("--alone-share", chosen->alone_share,
                   "re-measure a pair alone if it is below this share of the median pair; 0: none")
        ->check(CLI::Range(0.0, 1.0))->capture_default_str();
    sub.add_option("--block-bytes", chosen->block_bytes, "data from each rank to each other rank in the collectives, whose results are compared")
        ->check(CLI::Range(8, 1 << 24))->capture_default_str();
    sub.add_option("--alone-most", chosen->alone_most, "largest number of pairs that are re-measured alone, the worst first")
        ->check(CLI::Range(0, 500))->capture_default_str();
    sub.add_option("--sample-above", chosen->sample_above,
                   "measure a sample of the pairs if there are more nodes than this; figures go into a file beside the output, "
                   "with the suffix .bin")
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    sub.add_option("--rounds", chosen->rounds, "rounds of a sample, a quarter of them at most within leaf switches")
        ->check(CLI::Range(1, 1000))->capture_default_str();
    sub.add_option("--seed", chosen->seed, "of a sample: another number, other pairs")->capture_default_str();
    sub.add_option("--leaves", chosen->leaves, "file with the leaf switch of each node for a sample, in lines NODE LEAF; without it, "
                   "all rounds have random pairs");
    sub.add_option("--schedule-only", chosen->schedule_only,
                   "measure nothing, print the rounds of a sample of nodes 0 to N-1: a line each, FIRST-SECOND of every pair")
        ->check(CLI::Range(2, 1'000'000));
    const auto print_only = [chosen] {
        if (chosen->schedule_only > 0) {
            print_schedule(*chosen);
        }
        return chosen->schedule_only > 0;
    };
    Subcommand found{&sub, options, [chosen](const Run& run) { measure(run, *chosen); }};
    found.done_before = print_only;
    return {found};
}

}  // namespace measure::pairs
