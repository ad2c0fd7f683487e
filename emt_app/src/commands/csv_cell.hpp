// Text in tables.
#pragma once
#include <string>

namespace emt {

/// Returns a CSV cell that shows `text`: quoted as in RFC 4180 if necessary, and never taken for a formula.
std::string csv_cell(const std::string& text);

}  // namespace emt
