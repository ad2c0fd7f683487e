// A subcommand of the program: its options, and what every rank does.
#pragma once

#ifdef SMPI_HELPERS_H
#undef exit  // smpicxx's macro, which would be the name of a member of CLI::App
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
    // The level of thread support to ask MPI for; one is enough where no thread calls MPI.
    std::function<int()> thread_level = [] { return MPI_THREAD_SINGLE; };
    // Whether the first thread stays where OpenMP binds it.
    bool bound_by_openmp = false;
    // Before MPI starts; whether all is done then.
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

// Of a library that was not there when the program was built: whatever is asked of the subcommand is a usage error.
inline std::vector<Subcommand> built_without(CLI::App& app, const std::string& name, const std::string& library) {
    CLI::App* const sub = app.add_subcommand(name, "built without " + library);
    sub->set_help_flag();
    sub->allow_extras();
    sub->parse_complete_callback([name, library] { throw CLI::ValidationError(name, "built without " + library); });
    return {};
}

}  // namespace measure
