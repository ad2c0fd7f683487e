// pair_sweep: latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time.
//
// Every message is compared with what its sender has sent, outside of what is timed, and so are the results of collectives
// over all ranks after the pairs.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "collectives.hpp"
#include "in_world.hpp"
#include "json_text.hpp"
#include "node_names.hpp"
#include "sweep_all.hpp"
#include "world.hpp"
#include "write_file.hpp"

namespace {

using nlohmann::json;

constexpr int kAloneRepeats = 3;  // of which the best counts
constexpr int kCollectiveRepeats = 5;

struct Options {
    Settings settings;
    double alone_share = 0.5;
    int alone_most = 32;
    int block_bytes = 1 << 16;
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
json checked_collectives(const sweep::World& world, const Layout& layout, const Options& options) {
    std::vector<int> node_of(static_cast<std::size_t>(world.size()));
    for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
        for (const int rank : layout.ranks[node]) {
            node_of[static_cast<std::size_t>(rank)] = static_cast<int>(node);
        }
    }
    const auto node = [&node_of](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
    json found = json::array();
    for (const auto& [operation, wrong] : check_collectives(world, options.block_bytes, kCollectiveRepeats)) {
        json blocks = json::array();
        for (const WrongBlock& block : wrong) {
            blocks.push_back({node(block.sender), node(block.receiver)});
        }
        found.push_back({{"operation", operation}, {"wrong_blocks", wrong.size()}, {"from_to", blocks}});
    }
    return found;
}

json measured_alone(Sweep& sweep, const Matrices& matrices, Matrices& at_end, const Layout& layout, const Options& options,
                    int rank) {
    std::vector<Pair> pairs;
    if (rank == 0 && options.alone_share > 0) {
        pairs = outstanding(matrices, static_cast<int>(layout.nodes.size()), options.alone_share,
                            static_cast<std::size_t>(options.alone_most));
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
    at_end = sweep.collect();
    const Matrices& alone = at_end;
    json found = json::array();
    if (rank == 0) {
        for (const Pair& pair : pairs) {
            const auto nodes = static_cast<int>(layout.nodes.size());
            const auto there = static_cast<std::size_t>(pair.first * nodes + pair.second);
            const auto back = static_cast<std::size_t>(pair.second * nodes + pair.first);
            found.push_back({{"first", layout.nodes[static_cast<std::size_t>(pair.first)]},
                             {"second", layout.nodes[static_cast<std::size_t>(pair.second)]},
                             {"latency_us", sweep::rounded(alone.latency_us[there])},
                             {"to_second_MBps", sweep::rounded(alone.bandwidth_mbps[there])},
                             {"to_first_MBps", sweep::rounded(alone.bandwidth_mbps[back])}});
        }
    }
    return found;
}

void measure(const sweep::World& world, const Options& options) {
    static_assert(sizeof(Pair) == 2 * sizeof(int));
    const Layout layout = lay_out(sweep::node_names(world), world.rank());
    if (layout.nodes.size() < 2) {
        throw std::runtime_error("all ranks are on " + layout.nodes.front() + ": start at least one on each of two nodes");
    }
    Sweep sweep(world, layout, options.settings);
    json rounds = measured_in_rounds(sweep, layout, world.rank() == 0);
    const Matrices matrices = sweep.collect();
    Matrices at_end;
    const json alone = measured_alone(sweep, matrices, at_end, layout, options, world.rank());
    const json collectives = checked_collectives(world, layout, options);
    if (world.rank() != 0) {
        return;
    }
    add_counts(rounds, matrices, at_end, layout.nodes.size());
    const json document = {
        {"format", "kappa-pair-sweep"},
        {"version", 3},
        {"mpi", sweep::World::library()},
        {"nodes", layout.nodes},
        {"ranks_per_node", layout.slots},
        {"latency_bytes", options.settings.latency_bytes},
        {"bandwidth_bytes", options.settings.bandwidth_bytes},
        {"window", options.settings.window},
        {"rounds", rounds},
        {"latency_us", rows(matrices.latency_us, layout.nodes.size())},
        {"bandwidth_MBps", rows(matrices.bandwidth_mbps, layout.nodes.size())},
        // Two entries cut and joined would pass for one; the number of them tells.
        {"alone_pairs", alone.size()},
        {"alone", alone},
        {"operations", collectives.size()},
        {"collectives", collectives},
    };
    sweep::write_file(options.output, sweep::in_lines(document, {"rounds", "latency_us", "bandwidth_MBps", "collectives"}));
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Latency and bandwidth between every pair of nodes, in rounds of disjoint pairs at the same time.\n"
                 "Start the same number of MPI ranks on every node, for instance: srun --ntasks-per-node=1 pair_sweep"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    sweep::in_world("pair_sweep", &argc, &argv, [&options](const sweep::World& world) { measure(world, options); });
    return 0;
}
