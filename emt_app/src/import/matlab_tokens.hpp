// Tokens of a text in the MATLAB language, without comments. In brackets, the blanks and line ends that divide columns
// and rows become "," and ";".
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace emt {

struct MatlabToken {
    enum class Kind { number, text, name, keyword, symbol, end_of_statement, end_of_file };
    Kind kind;
    int line;               // of the file
    double number;
    std::string_view word;  // as in the source; a text without its quotes

    [[nodiscard]] bool is(std::string_view symbol) const { return kind == Kind::symbol && word == symbol; }
    [[nodiscard]] bool is_keyword(std::string_view name) const { return kind == Kind::keyword && word == name; }
};

/// `text` must outlive the tokens; the last token is the end of the file. `origin` appears in messages. Throws
/// CaseError.
[[nodiscard]] std::vector<MatlabToken> matlab_tokens(const std::string& text, const std::string& origin);

}  // namespace emt
