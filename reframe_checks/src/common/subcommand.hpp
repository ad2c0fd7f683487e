// A subcommand of the program: its options, and the measurement on every rank.
#pragma once

#ifdef SMPI_HELPERS_H
#undef exit  // smpicxx's macro breaks CLI::App's member of this name
#endif

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/run.hpp"

namespace measure {

struct Subcommand {
    CLI::App* parsed;
    std::shared_ptr<Options> options;
    std::function<void(const Run&)> measure;
    // Returns the level of thread support to request from MPI; MPI_THREAD_SINGLE suffices if no thread calls MPI.
    std::function<int()> thread_level = [] { return MPI_THREAD_SINGLE; };
    // The first thread stays where OpenMP binds it.
    bool bound_by_openmp = false;
    // Runs before MPI starts; returns true if nothing is left to do.
    std::function<bool()> done_before = [] { return false; };
};

inline void add_output(CLI::App& app, Options& options) {
    app.add_option("-o,--output", options.output, "the JSON file, written by rank 0; -: standard output")->capture_default_str();
}

inline void add_timeout(CLI::App& app, Options& options) {
    options.timeout_s = 60;
    app.add_option("--timeout-s", options.timeout_s, "longest wait; after it, the program ends and reports the operation that it waited for")
        ->check(CLI::Range(0.001, 86400.0))->capture_default_str();
}

// Adds a subcommand whose library was missing when the program was built: every use is a usage error.
inline std::vector<Subcommand> built_without(CLI::App& app, const std::string& name, const std::string& library) {
    CLI::App* const sub = app.add_subcommand(name, "built without " + library);
    sub->set_help_flag();
    sub->allow_extras();
    sub->parse_complete_callback([name, library] { throw CLI::ValidationError(name, "built without " + library); });
    return {};
}

}  // namespace measure
