// Evaluates the part of MATLAB's language that cases are written in: assignments, arithmetic on numbers and tables, if, for and while.
// Everything else is refused with its line. Loops and tables have limits, because anybody may have written the file.
#pragma once
#include <map>
#include <string>

#include "import/matlab_values.hpp"

namespace emt {

struct MatlabVariables {
    std::map<std::string, MatlabValue> value;
    std::string result;  // name of what the function returns; empty for a script
};

/// Runs the first function of the file, or the script. `origin` appears in messages. Throws CaseError.
[[nodiscard]] MatlabVariables run_matlab(const std::string& text, const std::string& origin);

}  // namespace emt
