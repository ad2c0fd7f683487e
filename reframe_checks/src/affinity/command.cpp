#include "common/subcommand.hpp"

#ifdef MEASURE_OPENMP
#include "affinity/affinity.hpp"
#endif

namespace measure::affinity {

std::vector<Subcommand> define(CLI::App& app) {
#ifndef MEASURE_OPENMP
    return built_without(app, "affinity", "OpenMP: the compiler has none");
#else
    const auto options = std::make_shared<Options>();
    const auto settings = std::make_shared<Settings>();
    CLI::App& sub = *app.add_subcommand(
        "affinity", "report the CPUs of every rank and thread, the place of its memory, and the speed of its triad.\n"
                    "OpenMP sets the threads (OMP_NUM_THREADS, OMP_PLACES, OMP_PROC_BIND)");
    add_output(sub, *options);
    sub.add_option("--mib-per-thread", settings->mib_per_thread, "of the triad's three arrays")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    sub.add_option("--seconds", settings->seconds, "time for which the triad runs")
        ->check(CLI::Range(0.001, 600.0))->capture_default_str();
    Subcommand found{&sub, options, [settings](const Run& run) { measure(run, *settings); }};
    found.bound_by_openmp = true;
    return {found};
#endif
}

}  // namespace measure::affinity
