// mpi: behaviour of the MPI library. Each measurement is a subcommand with its own file, which describes it.
//
// Every received message is compared with the sent one; a wrong byte ends the program with its place.

#include "common/subcommand.hpp"
#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

void add_common(CLI::App& app, Options& options) {
    add_output(app, options);
    add_timeout(app, options);
    app.add_option("--repeats", options.repeats, "of each measurement; each gives a median")->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.iterations = 200;
    app.add_option("--iterations", options.iterations, "iterations of a repeat; their median counts")->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--bytes", options.bytes, "of a message")->check(CLI::Range(1, 1 << 30))->capture_default_str();
}

void add_threads(CLI::App& app, Threads& threads) {
    std::vector<std::string> levels;
    for (const auto& [name, level] : thread_levels()) {
        levels.push_back(name);
    }
    app.add_option("--level", threads.level, "to ask for")->check(CLI::IsMember(levels))->capture_default_str();
    app.add_option("--threads", threads.threads, "numbers of threads; more than one need `multiple`")
        ->delimiter(',')->check(CLI::Range(1, 4096))->capture_default_str();
}

void add_shared_window(CLI::App& app, SharedWindow& shared_window) {
    const CLI::Validator words([](std::string& text) {
        return std::stol(text) % 8 == 0 ? std::string() : "no multiple of 8: " + text; }, "MULTIPLE OF 8");
    app.add_option("--sizes", shared_window.sizes, "bytes of a rank, multiples of 8")->delimiter(',')
        ->check(CLI::Range(8, 1 << 26))->check(words)->capture_default_str();
    app.add_option("--table-mib", shared_window.table_mib, "size of the table of splines, once per node or once per rank")
        ->check(CLI::Range(1, 1 << 16))->capture_default_str();
}

}  // namespace

std::vector<Subcommand> define(CLI::App& app) {
    const auto common = std::make_shared<Options>();
    CLI::App& all = *app.add_subcommand("mpi", "behaviour of the MPI library");
    all.require_subcommand(1);
    all.fallthrough();
    add_common(all, *common);
    std::vector<Subcommand> found;
    // A measurement with its own options, which `add` defines.
    const auto one = [&]<typename Own>(const char* name, const char* what, void (*measure)(const Run&, const Own&), const auto& add) {
        const auto own = std::make_shared<Own>();
        CLI::App& sub = *all.add_subcommand(name, what);
        add(sub, *own);
        found.push_back({&sub, common, [own, measure](const Run& run) {
            run.require_several_ranks();
            measure(run, *own);
        }});
        return own;
    };
    one("any-source", "receives from any source compared with receives from a named source", any_source, [](CLI::App& sub, AnySource& own) {
        sub.add_option("--most-sources", own.most_sources, "largest number of measured sources of rank 0")
            ->check(CLI::Range(1, 1'000'000))->capture_default_str();
    });
    const auto asked = one("threads", "level of thread support, and latency of several threads at once", threads, add_threads);
    found.back().thread_level = [asked] { return thread_levels().at(asked->level); };
    const auto before_init = one("memory", "memory of a rank over the number of its peers", memory, [](CLI::App&, Memory&) {});
    found.back().done_before = [before_init] {
        before_init->before_init_kib = memory_kib();
        return false;
    };
    one("matching", "latency over the depth of the queues of messages and receives", matching, [](CLI::App& sub, Matching& own) {
        sub.add_option("--depths", own.depths)->delimiter(',')->check(CLI::Range(0, 30'000))->capture_default_str();
    });
    one("shared-window", "collectives of a node through a shared window compared with MPI's own", shared_window, add_shared_window);
    return found;
}

}  // namespace measure::mpi
