#include <cstdio>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "generate/hq.hpp"

namespace emt {

int generate_command(const GenerateOptions& o) {
    const std::string& path = o.path;
    check_writable(path);
    write_file(path, generate_hq(o.scale, o.seed, o.network_only ? HqModel::network : HqModel::full, o.fault_bus).dump(0) + "\n");
    const Case c = load_case(path);
    std::printf("%s: %ld nodes, %ld lines\n", path.c_str(), c.census.nodes, c.census.lines);
    for (const auto& [type, what] : c.simplified) std::printf("  simplified: %s is a %s\n", type.c_str(), what.c_str());
    return 0;
}

}  // namespace emt
