#include <cstdio>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "network/tasks.hpp"

namespace emt {

int check_command(const std::string& path, bool as_json) {
    const Case c = load_case(path);
    const Decomposition parts = decompose(c.network);
    int largest = 0;
    for (const Task& t : parts.tasks) largest = std::max(largest, t.size());
    const Census& n = c.census;
    if (as_json) {
        const nlohmann::json out{{"case", path}, {"valid", true}, {"tasks", parts.tasks.size()}, {"islands", parts.islands},
                                 {"largest_task_nodes", largest}, {"simplified", c.simplified},
                                 {"census", {{"nodes", n.nodes}, {"machines", n.machines}, {"condensers", n.condensers}, {"svcs", n.svcs},
                                             {"lines", n.lines}, {"transformers", n.transformers}, {"rlc", n.rlc},
                                             {"nonlinear", n.nonlinear}, {"switches", n.switches}, {"control", n.control}}}};
        std::printf("%s\n", out.dump(2).c_str());
        return 0;
    }
    std::printf("%s: valid\n", path.c_str());
    std::printf("  %ld nodes in %zu tasks and %d island(s), the largest task has %d nodes; step %g us\n", n.nodes, parts.tasks.size(),
                parts.islands, largest, c.network.dt_s * 1e6);
    std::printf("  machines %ld, condensers %ld, SVCs %ld, lines %ld, transformers %ld, RLC %ld, non-linear %ld, switches %ld, control %ld\n",
                n.machines, n.condensers, n.svcs, n.lines, n.transformers, n.rlc, n.nonlinear, n.switches, n.control);
    for (const auto& [type, what] : c.simplified) std::printf("  simplified: %s is a %s\n", type.c_str(), what.c_str());
    return 0;
}

}  // namespace emt
