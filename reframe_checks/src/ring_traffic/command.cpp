#include "common/subcommand.hpp"
#include "ring_traffic/ring_traffic.hpp"

namespace measure::ring_traffic {

std::vector<Subcommand> define(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    const auto settings = std::make_shared<Settings>();
    CLI::App& sub = *app.add_subcommand("ring-traffic", "which network adapters carry what MPI sends, and how fast.\n"
                                                        "Start one rank on each node");
    add_output(sub, *options);
    sub.add_option("--mib", settings->mib, "that each rank sends to the next, and to the one before")
        ->check(CLI::Range(1, 1 << 20))->capture_default_str();
    sub.add_option("--gpus", settings->gpus, "GPU of the ranks with even numbers, and of those with odd ones: messages lie there")
        ->expected(2)->check(CLI::NonNegativeNumber);
    return {{&sub, options, [settings](const Run& run) { measure(run, *settings); }}};
}

}  // namespace measure::ring_traffic
