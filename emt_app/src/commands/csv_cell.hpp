// Text in tables.
#pragma once
#include <string>

namespace emt {

/// A cell of CSV that shows `text`: quoted as in RFC 4180 where it has to be; no program takes it for a formula.
std::string csv_cell(const std::string& text);

}  // namespace emt
