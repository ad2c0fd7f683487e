// Tables of numbers in a MATLAB file, read as text: nothing is evaluated.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace emt {

struct TableRow {
    int line;  // of the file
    std::vector<double> value;
};

struct MatlabTables {
    std::map<std::string, std::vector<TableRow>> table;  // STRUCT.NAME = [ … ]; by NAME
    std::map<std::string, double> number;                // STRUCT.NAME = number;
    std::map<std::string, std::string> text;             // STRUCT.NAME = 'text';
};

/// Assignments of numbers, texts and tables to members of the struct `of`. What assigns to a part of a table is refused: its effect
/// would be missed. Other statements are passed over. `origin` appears in messages. Throws CaseError.
[[nodiscard]] MatlabTables read_matlab_tables(const std::string& text, const std::string& of, const std::string& origin);

}  // namespace emt
