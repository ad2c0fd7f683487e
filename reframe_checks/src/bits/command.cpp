// bits: every core of every node does the same work and reports its final bits.
//
// Works, each in rounds of milliseconds that begin with the same data: dense linear algebra, a chaotic map over
// integers, copies and pattern walks through memory. A round ends with a 64-bit digest of all its operands and results.
// The result counts the rounds of each core per digest; its reader decides which digest is right.

#include "bits/cores.hpp"
#include "common/subcommand.hpp"

namespace measure::bits {
namespace {

void measure(const Run& run, const Dose& dose) {
    require_one_rank_per_node(run.node_names());
    heartbeat::phase(kPatience_s + 10 * dose.seconds * static_cast<double>(dose.works.size()), "works on all cores");
    const json own = sweep_node(run.node_names()[at(run.rank())], dose);
    run.world().barrier();
    run.write({{"variant", dose.variant}, {"nodes", run.gathered(own)}}, {"nodes"});
}

}  // namespace

std::vector<Subcommand> define(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    const auto dose = std::make_shared<Dose>();
    CLI::App& sub = *app.add_subcommand("bits", "run the same work on every core, and report the resulting bits.\n"
                                                "Start one rank on each node with all of its cores");
    add_output(sub, *options);
    sub.add_option("--seconds", dose->seconds, "time of each work; a round that has begun is completed")
        ->check(CLI::Range(0.0, 86400.0))->capture_default_str();
    sub.add_option("--works", dose->works, "works, in this order")
        ->delimiter(',')->check(CLI::IsMember({"dense", "map", "memory"}))->capture_default_str();
    sub.add_option("--variant", dose->variant, "number of the initial data")
        ->check(CLI::Range(0, 1'000'000))->capture_default_str();
    sub.add_option("--mib-per-core", dose->mib_per_core, "memory that each core walks through, in blocks of 16 MiB")
        ->check(CLI::Range(16, 1 << 20))->capture_default_str();
    sub.add_option("--isa", dose->isa, "kernel of the linear algebra")
        ->check(CLI::IsMember({"auto", "portable", "avx2", "avx512"}))->capture_default_str();
    return {{&sub, options, [dose](const Run& run) { measure(run, *dose); }}};
}

}  // namespace measure::bits
