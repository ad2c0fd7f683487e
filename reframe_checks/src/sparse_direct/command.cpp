#include "common/subcommand.hpp"

#ifdef MEASURE_MUMPS
#include "sparse_direct/sparse_direct.hpp"
#endif

namespace measure::sparse_direct {

std::vector<Subcommand> define(CLI::App& app) {
#ifndef MEASURE_MUMPS
    return built_without(app, "sparse-direct", "MUMPS: build with -DMEASURE_MUMPS=ON where dmumps_c.h and libdmumps are");
#else
    const auto options = std::make_shared<Options>();
    const auto settings = std::make_shared<Settings>();
    CLI::App& sub = *app.add_subcommand(
        "sparse-direct", "factorise and solve a sparse system of edge^3 unknowns with MUMPS, several times");
    add_output(sub, *options);
    sub.add_option("--edge", settings->edge, "points along each edge of the cube")->check(CLI::Range(2, 1000))->capture_default_str();
    sub.add_option("--steps", settings->steps, "factorisations, each with a solution")->check(CLI::Range(1, 1000))->capture_default_str();
    return {{&sub, options, [settings](const Run& run) { measure(run, *settings); }}};
#endif
}

}  // namespace measure::sparse_direct
