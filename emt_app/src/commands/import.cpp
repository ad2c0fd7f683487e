#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "commands/nearest.hpp"
#include "import/grid_case.hpp"
#include "import/grid_flow.hpp"
#include "import/read_grid.hpp"

namespace emt {
namespace {

/// Returns a text on the difference between the voltages after the start and those of the grid.
std::string start_told(const Grid& grid, const nlohmann::ordered_json& emt_case, const char* lines) {
    const VoltageError off = voltage_error(grid, emt_case);
    char text[160];
    std::snprintf(text, sizeof text, "voltages after the start, lines as %s: at most %.1e per unit off, at bus %ld", lines, off.per_unit, grid.bus[off.bus].number);
    return text;
}

}  // namespace

int import_command(const ImportOptions& o) {
    const std::vector<std::string> formats{"matpower", "psse"};
    if (!o.format.empty() && std::find(formats.begin(), formats.end(), o.format) == formats.end())
        throw std::runtime_error("'" + o.format + "' is no format of a case: did you mean '" + nearest(o.format, formats, 1).at(0) + "'?");
    check_writable(o.output);
    std::ifstream file(o.path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + o.path + "'");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    Grid grid = read_grid(text, o.path, o.format);
    settle_grid(grid, !o.solve ? Solve::no : o.reactive_limits == "keep" ? Solve::with_limits : Solve::without_limits,
                o.tolerance_mva < 0 ? std::nullopt : std::optional(o.tolerance_mva), o.path);
    insert_step_ups(grid);
    const double frequency_hz = o.frequency_given || grid.frequency_hz == 0 ? o.frequency_hz : grid.frequency_hz;
    std::vector<std::string> notes = grid.notes, unused;
    const bool waves = o.lines == "waves", machines = o.generators == "machine";
    const nlohmann::ordered_json made = grid_case(grid, {o.dt_s, frequency_hz, waves, machines}, notes);
    const Case c = parse_case(made.dump(), o.output);
    // Refuse a case that cannot start before any file is written.
    notes.push_back(start_told(grid, made, waves ? "waves" : "pi"));
    try {
        notes.push_back(start_told(grid, grid_case(grid, {o.dt_s, frequency_hz, !waves, machines}, unused), waves ? "pi" : "waves"));
    } catch (const std::exception& e) {
        notes.push_back(std::string("with lines as ") + (waves ? "pi" : "waves") + " the case does not start: " + e.what());
    }
    if (!o.frequency_given && grid.frequency_hz == 0) notes.push_back("60 Hz is assumed, because the case does not state its frequency: --frequency sets another");
    write_file(o.output, made.dump(0) + "\n");
    std::printf("%s: %ld nodes, %ld lines, %ld machines\n", o.output.c_str(), c.census.nodes, c.census.lines, c.census.machines);
    for (const std::string& note : notes) std::printf("  %s\n", note.c_str());
    return 0;
}

}  // namespace emt
