#include "commands/summary.hpp"

#include <cmath>
#include <cstdio>

namespace emt {

using nlohmann::json;

void print_summary(const json& r) {
    const auto number = [&](const char* key) { return r[key].is_number() ? r[key].get<double>() : std::nan(""); };
    std::printf("%s\n", r["title"].get<std::string>().c_str());
    std::printf("  ranks %d on %zu node(s), %d tasks in %d island(s), map %s, exchange %s, transport %s, kernels %s\n", r["ranks"].get<int>(),
                r["provenance"]["nodes"].size(), r["tasks"].get<int>(), r["islands"].get<int>(), r["map"].get<std::string>().c_str(),
                r["exchange"].get<std::string>().c_str(), r["transport"].get<std::string>().c_str(), r["isa"].get<std::string>().c_str());
    if (r["simulated"].get<bool>()) std::printf("  simulated machine: times are SimGrid's\n");
    std::printf("  steps %llu of %g us; checksum %s\n", static_cast<unsigned long long>(r["steps"].get<std::uint64_t>()),
                r["dt_us"].get<double>(), r["checksum"].get<std::string>().c_str());
    const json& s = r["step_us"];
    std::printf("  step time      mean %.3f us, median block of %llu steps %.3f, p50 %.3f, p99 %.3f, max %.1f\n", s["mean"].get<double>(),
                static_cast<unsigned long long>(r["block_steps"].get<std::uint64_t>()), s["block_p50"].get<double>(), s["p50"].get<double>(),
                s["p99"].get<double>(), s["max"].get<double>());
    if (!r["phi_us"].is_null()) {
        if (r["phi_by"] == "injected")
            std::printf("  work           phi %.3f us, injected; heaviest task %.3f us\n", number("phi_us"), number("heaviest_task_us"));
        else
            std::printf("  work           sigma %.3f us, phi %.3f us (replay, sum over ranks; %.3f us with every batch in cache)\n",
                        number("sigma_us"), number("phi_us"), number("phi_cached_us"));
        std::printf("  overhead       kappa' %.3f us: imbalance %.3f us, beyond the slowest rank alone %.3f us; "
                    "from the median block %.3f us, from the median step %.3f us\n",
                    number("kappa_us"), number("imbalance_us"), number("exchange_us"), number("kappa_block_p50_us"), number("kappa_p50_us"));
        std::printf("  speed-up %.3f, efficiency %.3f", number("speedup"), number("efficiency"));
        if (r["karp_flatt"].is_number()) std::printf(", Karp-Flatt %.3f", number("karp_flatt"));
        std::printf("\n");
    }
    if (r.contains("profile")) {
        std::printf("  parts of phi, and how many make it\n");
        for (const json& part : r["profile"])
            std::printf("    %-16s %8.3f us %5.1f %%  %7ld\n", part["part"].get<std::string>().c_str(), part["us"].get<double>(), 100 * part["share"].get<double>(),
                        part["count"].get<long>());
    }
    if (r["ranks"].get<int>() > 1)
        std::printf("  exchange       by %s, %.0f neighbours at most, %.0f bytes and %.2f messages per step, least slack %g steps\n",
                    r["exchange_by"].get<std::string>().c_str(), r["neighbours"]["max"].get<double>(), r["bytes_per_step"]["total"].get<double>(),
                    r["messages_per_step"].get<double>(), number("slack_steps"));
    if (r["unsettled"].get<long>() > 0)
        std::printf("  warning: %ld task steps were accepted with a piecewise element outside its segment\n", r["unsettled"].get<long>());
    for (const auto& [type, what] : r["simplified"].items())
        std::printf("  simplified: %s is a %s\n", type.c_str(), what.get<std::string>().c_str());
}

}  // namespace emt
