#include "commands/csv_cell.hpp"

namespace emt {

std::string csv_cell(const std::string& text) {
    // A name comes from a case file, which anybody may have written; spreadsheets run what begins like this.
    const bool formula = !text.empty() && std::string("=+-@\t\r").find(text.front()) != std::string::npos;
    const std::string shown = formula ? "'" + text : text;
    if (shown.find_first_of(",\"\r\n") == std::string::npos) return shown;
    std::string quoted = "\"";
    for (const char c : shown) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

}  // namespace emt
