// mpi_behaviour: how the MPI library itself behaves, each measurement a subcommand and a file of its own, which says what is
// measured.
//
// Rank 0 writes one JSON document. What arrives is compared with what was sent; a wrong byte ends the program with its place.

#include <CLI/CLI.hpp>

#include "in_world.hpp"
#include "programs.hpp"

namespace {

using namespace mpi_behaviour;

struct All {
    Options common;
    AnySource any_source;
    Threads threads;
    Persistent persistent;
    Overlap overlap;
    Matching matching;
    SharedWindow shared_window;
};

void define_common(CLI::App& app, Options& options) {
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0; -: standard output")->capture_default_str();
    app.add_option("--repeats", options.repeats, "of each measurement; each gives a median")->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--iterations", options.iterations, "of which a repeat gives the median")->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--bytes", options.bytes, "of a message")->check(CLI::Range(1, 1 << 30))->capture_default_str();
    app.add_option("--timeout-s", options.timeout_s, "no wait lasts longer: the program ends and says for what it waited")
        ->check(CLI::Range(0.001, 86400.0))->capture_default_str();
}

void define(CLI::App& app, All& all) {
    define_common(app, all.common);
    app.require_subcommand(1);
    app.fallthrough();

    auto* any = app.add_subcommand("any-source", "receives from any source against receives from a named one");
    any->add_option("--most-sources", all.any_source.most_sources, "that are measured, of those that rank 0 has to do with")
        ->check(CLI::Range(1, 1'000'000))->capture_default_str();

    std::vector<std::string> levels;
    for (const auto& [name, level] : thread_levels()) {
        levels.push_back(name);
    }
    auto* threads = app.add_subcommand("threads", "level of thread support, and latency of several threads at once");
    threads->add_option("--level", all.threads.level, "to ask for")->check(CLI::IsMember(levels))->capture_default_str();
    threads->add_option("--threads", all.threads.threads, "numbers of threads, of which more than one need `multiple`")
        ->delimiter(',')->check(CLI::Range(1, 4096))->capture_default_str();

    app.add_subcommand("memory", "memory of a rank over the number of its peers");

    auto* persistent = app.add_subcommand("persistent", "persistent operations against ordinary non-blocking ones");
    persistent->add_option("--sizes", all.persistent.sizes, "of a message, bytes")->delimiter(',')->check(CLI::Range(1, 1 << 28))
        ->capture_default_str();

    auto* overlap = app.add_subcommand("overlap", "share of a non-blocking operation that goes on while the rank computes");
    overlap->add_option("--operation", all.overlap.operation)->check(CLI::IsMember({"isend", "iallreduce"}))->capture_default_str();
    overlap->add_option("--sizes", all.overlap.sizes, "bytes")->delimiter(',')->check(CLI::Range(8, 1 << 28))->capture_default_str();

    auto* matching = app.add_subcommand("matching", "latency over the depth of the queues of messages and receives");
    matching->add_option("--depths", all.matching.depths)->delimiter(',')->check(CLI::Range(0, 30'000))->capture_default_str();

    auto* shared = app.add_subcommand("shared-window", "collectives of a node through a shared window against MPI's own");
    shared->add_option("--sizes", all.shared_window.sizes, "bytes of a rank, multiples of 8")->delimiter(',')
        ->check(CLI::Range(8, 1 << 26))->check(CLI::Validator([](std::string& text) {
            return std::stol(text) % 8 == 0 ? std::string() : "no multiple of 8: " + text; }, "MULTIPLE OF 8"))->capture_default_str();
    shared->add_option("--table-mib", all.shared_window.table_mib, "of splines, held once or by each rank")
        ->check(CLI::Range(1, 1 << 16))->capture_default_str();
}

// Of the level that is asked for; one is enough where no thread calls MPI.
int wanted_level(const CLI::App& app, const All& all) {
    return app.got_subcommand("threads") ? thread_levels().at(all.threads.level) : MPI_THREAD_SINGLE;
}

void act(const CLI::App& app, const All& all, const sweep::World& world, double before_init_kib) {
    const Bench bench(world, all.common);
    const std::string chosen = app.get_subcommands().front()->get_name();
    if (chosen == "any-source") {
        any_source(bench, all.any_source);
    } else if (chosen == "threads") {
        threads(bench, all.threads);
    } else if (chosen == "memory") {
        memory(bench, before_init_kib);
    } else if (chosen == "persistent") {
        persistent(bench, all.persistent);
    } else if (chosen == "overlap") {
        overlap(bench, all.overlap);
    } else if (chosen == "shared-window") {
        shared_window(bench, all.shared_window);
    } else {
        matching(bench, all.matching);
    }
}

}  // namespace

int main(int argc, char** argv) {
    All all;
    CLI::App app{"Behaviour of the MPI library, for instance: srun mpi_behaviour any-source"};
    define(app, all);
    CLI11_PARSE(app, argc, argv);
    const double before_init_kib = app.got_subcommand("memory") ? memory_kib() : 0;
    sweep::in_world(
        "mpi_behaviour", &argc, &argv, [&](const sweep::World& world) { act(app, all, world, before_init_kib); },
        wanted_level(app, all));
    return 0;
}
