#include <cstdio>

#include "case/case_file.hpp"
#include "commands/probes.hpp"

namespace emt {

int channels_command(const std::string& path, const std::vector<std::string>& patterns) {
    const Case c = load_case(path, 0, true);
    for (const Known& k : matching(known(c.network), patterns)) std::printf("%s%s%s\n", k.name.c_str(), k.unit.empty() ? "" : "\t", k.unit.c_str());
    return 0;
}

}  // namespace emt
