#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "import/matpower.hpp"

namespace emt {

int import_command(const ImportOptions& o) {
    std::ifstream file(o.path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + o.path + "'");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const MatpowerImport imported = import_matpower(text, o.path, {o.dt_s, o.frequency_hz, o.lines == "waves", o.generators == "machine"});
    write_file(o.output, imported.emt_case.dump(0) + "\n");
    const Case c = load_case(o.output);
    std::printf("%s: %ld nodes, %ld lines, %ld machines\n", o.output.c_str(), c.census.nodes, c.census.lines, c.census.machines);
    for (const std::string& note : imported.notes) std::printf("  %s\n", note.c_str());
    return 0;
}

}  // namespace emt
