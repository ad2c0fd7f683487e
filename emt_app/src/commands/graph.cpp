#include <cstdio>
#include <map>
#include <utility>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "network/tasks.hpp"
#include "parallel/exchange.hpp"
#include "parallel/mapper.hpp"

namespace emt {

int graph_command(const std::string& path, int ranks) {
    const Case c = load_case(path);
    const Decomposition parts = decompose(c.network);
    const Mapping mapping = map_tasks(c.network, parts, ranks);
    std::map<std::pair<int, int>, int> lines;
    for (const auto& [near, far] : parts.task_of_line) {
        const auto [low, high] = std::minmax(mapping.rank_of_task[static_cast<std::size_t>(near)], mapping.rank_of_task[static_cast<std::size_t>(far)]);
        if (low != high) ++lines[{low, high}];
    }
    std::printf("# %s on %d ranks: rank, rank, lines between them, bytes of each line, direction and step\n", path.c_str(), ranks);
    for (const auto& [pair, count] : lines) std::printf("%d %d %d %zu\n", pair.first, pair.second, count, kLineBytes);
    return 0;
}

}  // namespace emt
