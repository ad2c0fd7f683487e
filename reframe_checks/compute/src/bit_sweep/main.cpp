// bit_sweep: every core of every node does the same work, and tells with which bits it ended.
//
// Works, each in rounds of milliseconds that begin with the same data: dense linear algebra, a chaotic map over integers,
// copies and pattern walks through memory. A round ends with a digest of 64 bits of all that it computed and computed with;
// the result says how many rounds of each core ended with which. Who is right is for the reader to say.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cores.hpp"
#include "gathered.hpp"
#include "heartbeat.hpp"
#include "in_world.hpp"
#include "json_text.hpp"
#include "node_names.hpp"
#include "world.hpp"
#include "write_file.hpp"

namespace {

using nlohmann::json;

struct Options {
    Dose dose;
    std::filesystem::path output = "bit_sweep.json";
};

void define(CLI::App& app, Options& options) {
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0")->capture_default_str();
    app.add_option("--seconds", options.dose.seconds, "of each work; a round that has begun is completed")
        ->check(CLI::Range(0.0, 86400.0))->capture_default_str();
    app.add_option("--works", options.dose.works, "which ones, and in which order")
        ->delimiter(',')->check(CLI::IsMember({"dense", "map", "memory"}))->capture_default_str();
    app.add_option("--variant", options.dose.variant, "which data the works begin with")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
    app.add_option("--mib-per-core", options.dose.mib_per_core, "memory that is walked through, in blocks of 16 MiB")
        ->check(CLI::Range(16, 1 << 20))->capture_default_str();
    app.add_option("--isa", options.dose.isa, "kernel of the linear algebra")
        ->check(CLI::IsMember({"auto", "portable", "avx2", "avx512"}))->capture_default_str();
}

void measure(const sweep::World& world, const Options& options) {
    const std::vector<std::string> names = sweep::node_names(world);
    sweep::require_one_rank_per_node(names);
    const Dose& dose = options.dose;
    heartbeat::phase(sweep::kPatience_s + 10 * dose.seconds * static_cast<double>(dose.works.size()), "works on all cores");
    const json own = sweep_node(names[static_cast<std::size_t>(world.rank())], dose);
    world.barrier();
    json nodes = json::array();
    for (const std::string& text : sweep::gathered(own.dump(), world)) {
        nodes.push_back(json::parse(text));
    }
    if (world.rank() == 0) {
        const json document = {{"format", "kappa-bit-sweep"}, {"version", 1},
                               {"ranks", world.size()},       {"variant", options.dose.variant}, {"nodes", nodes}};
        sweep::write_file(options.output, sweep::in_lines(document, {"nodes"}));
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"The same work on every core, and the bits with which it ends.\n"
                 "Start one MPI rank on each node with all of its cores."};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    sweep::in_world("bit_sweep", &argc, &argv, [&options](const sweep::World& world) { measure(world, options); });
    return 0;
}
