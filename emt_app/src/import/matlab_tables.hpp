// What a case of MATPOWER holds: the members of the structure that its file makes.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace emt {

struct TableRow {
    int line;  // of the file; 0 for rows that are computed
    std::vector<double> value;
};

struct MatlabTables {
    std::map<std::string, std::vector<TableRow>> table;  // every member that is made of numbers
    std::map<std::string, double> number;                // those of a single one
    std::map<std::string, std::string> text;
};

/// Evaluates the file (matlab_program.hpp): the members of what its function returns, or of `of` in a script. `origin` appears in
/// messages. Throws CaseError.
[[nodiscard]] MatlabTables read_matlab_tables(const std::string& text, const std::string& of, const std::string& origin);

}  // namespace emt
