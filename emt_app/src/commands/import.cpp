#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "import/matpower.hpp"

namespace emt {
namespace {

/// How far the voltages after the start are from the grid's.
std::string start_told(const Grid& grid, const nlohmann::ordered_json& emt_case, const char* lines) {
    const VoltageError off = voltage_error(grid, emt_case);
    char text[160];
    std::snprintf(text, sizeof text, "voltages after the start, lines as %s: at most %.1e per unit off, at bus %ld", lines, off.per_unit, grid.bus[off.bus].number);
    return text;
}

}  // namespace

int import_command(const ImportOptions& o) {
    check_writable(o.output);
    std::ifstream file(o.path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + o.path + "'");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    Grid grid = read_matpower(text, o.path);
    settle_grid(grid, !o.solve ? Solve::no : o.reactive_limits == "keep" ? Solve::with_limits : Solve::without_limits,
                o.tolerance_mva < 0 ? std::nullopt : std::optional(o.tolerance_mva), o.path);
    std::vector<std::string> notes = grid.notes, unused;
    const bool waves = o.lines == "waves", machines = o.generators == "machine";
    const nlohmann::ordered_json made = grid_case(grid, {o.dt_s, o.frequency_hz, waves, machines}, notes);
    const Case c = parse_case(made.dump(), o.output);
    // A case that does not start is refused before anything is written.
    notes.push_back(start_told(grid, made, waves ? "waves" : "pi"));
    try {
        notes.push_back(start_told(grid, grid_case(grid, {o.dt_s, o.frequency_hz, !waves, machines}, unused), waves ? "pi" : "waves"));
    } catch (const std::exception& e) {
        notes.push_back(std::string("with lines as ") + (waves ? "pi" : "waves") + " the case does not start: " + e.what());
    }
    if (!o.frequency_given) notes.push_back("60 Hz is assumed, because the case does not state its frequency: --frequency sets another");
    write_file(o.output, made.dump(0) + "\n");
    std::printf("%s: %ld nodes, %ld lines, %ld machines\n", o.output.c_str(), c.census.nodes, c.census.lines, c.census.machines);
    for (const std::string& note : notes) std::printf("  %s\n", note.c_str());
    return 0;
}

}  // namespace emt
