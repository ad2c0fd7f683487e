// Content of a MATPOWER case: the members of the structure that its file makes.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace emt {

struct TableRow {
    int line;  // in the file; 0 for computed rows
    std::vector<double> value;
};

struct MatlabTables {
    std::map<std::string, std::vector<TableRow>> table;  // every numeric member
    std::map<std::string, double> number;                // members that are a single number
    std::map<std::string, std::string> text;
};

/// Evaluates the file (matlab_program.hpp). Returns the members of its function's result, or of the variable `of` in a
/// script. `origin` appears in messages. Throws CaseError.
[[nodiscard]] MatlabTables read_matlab_tables(const std::string& text, const std::string& of, const std::string& origin);

}  // namespace emt
