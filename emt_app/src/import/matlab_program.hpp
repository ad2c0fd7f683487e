// Evaluates the part of the MATLAB language that case files use: assignments, arithmetic on numbers and tables, if, for
// and while. Refuses everything else with its line. Loops and tables have limits, because a file may be untrusted.
#pragma once
#include <map>
#include <string>

#include "import/matlab_values.hpp"

namespace emt {

struct MatlabVariables {
    std::map<std::string, MatlabValue> value;
    std::string result;  // name of the function's result; empty for a script
};

/// Runs the first function of the file, or the script. `origin` appears in messages. Throws CaseError.
[[nodiscard]] MatlabVariables run_matlab(const std::string& text, const std::string& origin);

}  // namespace emt
