// kappa-measure: the measuring programs of the suite, each a subcommand with its own folder.
//
// Every measurement runs on MPI's ranks; rank 0 writes one JSON document. Its first lines describe the run
// (common/run.cpp).

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "common/subcommand.hpp"

namespace measure {

namespace affinity { std::vector<Subcommand> define(CLI::App& app); }
namespace bits { std::vector<Subcommand> define(CLI::App& app); }
namespace mpi { std::vector<Subcommand> define(CLI::App& app); }
namespace node { std::vector<Subcommand> define(CLI::App& app); }
namespace pairs { std::vector<Subcommand> define(CLI::App& app); }
namespace patterns { std::vector<Subcommand> define(CLI::App& app); }
namespace ring_traffic { std::vector<Subcommand> define(CLI::App& app); }
namespace sparse_direct { std::vector<Subcommand> define(CLI::App& app); }

namespace {

using Define = std::vector<Subcommand> (*)(CLI::App&);

// A simulated machine has no cores, adapters or kernel to measure.
#ifdef SMPI_H
constexpr Define kSubcommands[] = {patterns::define};
#else
constexpr Define kSubcommands[] = {affinity::define, bits::define,     node::define,         pairs::define,
                                   mpi::define,      patterns::define, ring_traffic::define, sparse_direct::define};
#endif

#ifndef SMPI_H
// The program uses OpenMP for `affinity`. If OMP_PROC_BIND or OMP_PLACES is set, GNU's OpenMP binds the first thread
// before main. The other measurements would see that core as their whole allocation, so they get the launcher's mask
// back.
cpu_set_t cores_given;
bool cores_known = false;

// Runs before all libraries, so without a sanitizer's library.
__attribute__((no_sanitize("address", "undefined"))) void remember_cores() {
    cores_known = syscall(SYS_sched_getaffinity, 0, sizeof cores_given, &cores_given) > 0;
}
__attribute__((section(".preinit_array"), used)) void (*const volatile before_libraries)() = remember_cores;

void undo_binding() {
    cpu_set_t now;
    const bool bound = cores_known && sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, &cores_given);
    if (bound && sched_setaffinity(0, sizeof cores_given, &cores_given) != 0) {
        throw std::runtime_error("sched_setaffinity failed");
    }
}
#endif

// Returns the name as on the command line, with the names of its parents.
std::string full_name(const CLI::App* app) {
    const CLI::App* const above = app->get_parent();
    const std::string before = above == nullptr || above->get_parent() == nullptr ? "" : full_name(above) + " ";
    return before + app->get_name();
}

int run(int argc, char** argv) {
    CLI::App app{"Measures nodes, links between them and MPI, for instance: srun --ntasks-per-node=1 kappa-measure pairs",
                 "kappa-measure"};
    app.require_subcommand(1);
    std::vector<Subcommand> all;
    for (const Define define : kSubcommands) {
        for (Subcommand& one : define(app)) {
            all.push_back(std::move(one));
        }
    }
    CLI11_PARSE(app, argc, argv);
    const Subcommand& chosen = *std::find_if(all.begin(), all.end(), [](const Subcommand& one) { return one.parsed->parsed(); });
    chosen.options->subcommand = full_name(chosen.parsed);
    const std::string program = "kappa-measure " + chosen.options->subcommand;
    try {
#ifndef SMPI_H
        if (!chosen.bound_by_openmp) {
            undo_binding();
        }
#endif
        if (chosen.done_before()) {
            return 0;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: error: %s\n", program.c_str(), error.what());
        return 1;
    }
    in_world(program, &argc, &argv, chosen.thread_level(),
             [&chosen](const World& world) { chosen.measure(Run(world, *chosen.options)); });
    return 0;
}

}  // namespace
}  // namespace measure

int main(int argc, char** argv) { return measure::run(argc, argv); }
