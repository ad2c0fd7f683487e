#include "commands/csv_cell.hpp"

namespace emt {

std::string csv_cell(const std::string& text) {
    // Spreadsheets run cells that begin with these characters, and a name may come from an untrusted case file.
    const bool formula = !text.empty() && std::string("=+-@\t\r").find(text.front()) != std::string::npos;
    const std::string shown = formula ? "'" + text : text;
    if (shown.find_first_of(",\"\r\n") == std::string::npos) return shown;
    std::string quoted = "\"";
    for (const char c : shown) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

}  // namespace emt
