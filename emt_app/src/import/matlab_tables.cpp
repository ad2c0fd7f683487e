#include "import/matlab_tables.hpp"

#include <cctype>
#include <charconv>
#include <limits>

#include "base/diagnostics.hpp"

namespace emt {
namespace {

class Scanner {
public:
    Scanner(const std::string& text, const std::string& of, const std::string& origin) : text_(text), of_(of), origin_(origin) {}

    MatlabTables run() {
        MatlabTables out;
        for (skip(); !at_end(); skip())
            if (!member(out)) statement();
        return out;
    }

private:
    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
    char take() {
        if (text_[at_] == '\n') ++line_;
        return text_[at_++];
    }
    [[noreturn]] void fail(const std::string& what) const { throw CaseError(origin_ + ", line " + std::to_string(line_) + ": " + what + "\n"); }
    [[nodiscard]] static bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

    void comment() {
        while (!at_end() && peek() != '\n') take();
    }
    /// A blank of a row: a space, a comma, a comment's end, or a line that goes on after "...".
    bool blank() {
        if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
            take();
        } else if (text_.compare(at_, 3, "...") == 0) {
            comment();
            if (!at_end()) take();
        } else if (peek() == '%') {
            comment();
        } else {
            return false;
        }
        return true;
    }
    void blanks() {
        while (!at_end() && blank()) {
        }
    }
    void skip() {
        while (!at_end() && (blank() || peek() == '\n' || peek() == ';' || peek() == ',')) {
            if (peek() == '\n' || peek() == ';' || peek() == ',') take();
        }
    }
    std::string name() {
        const std::size_t begin = at_;
        while (!at_end() && word(peek())) take();
        return text_.substr(begin, at_ - begin);
    }

    /// Any other statement, to the end of its line: brackets and texts may hold what looks like an assignment.
    void statement() {
        int depth = 0;
        for (char before = '\0'; !at_end() && (depth > 0 || peek() != '\n');) {
            const char c = peek();
            if (c == '%') {
                comment();
                continue;
            }
            take();
            if (c == '[' || c == '{' || c == '(') ++depth;
            if (c == ']' || c == '}' || c == ')') --depth;
            const bool transposed = word(before) || before == ']' || before == ')' || before == '\'';
            if (c == '\'' && !transposed) quoted();
            before = c;
        }
    }
    /// The rest of a text whose first quote has been taken.
    std::string quoted() {
        const std::size_t begin = at_;
        while (!at_end() && peek() != '\'' && peek() != '\n') take();
        if (peek() != '\'') fail("a text without its second quote");
        take();
        return text_.substr(begin, at_ - 1 - begin);
    }

    double number() {
        const std::size_t begin = at_;
        while (!at_end() && (word(peek()) || peek() == '.' || peek() == '+' || peek() == '-')) {
            const char c = peek();
            // A sign begins a number unless it is that of an exponent.
            if ((c == '+' || c == '-') && at_ > begin && text_[at_ - 1] != 'e' && text_[at_ - 1] != 'E') break;
            take();
        }
        std::string digits = text_.substr(begin, at_ - begin);
        if (digits.starts_with('+')) digits.erase(0, 1);
        if (digits == "Inf") return std::numeric_limits<double>::infinity();
        if (digits == "-Inf") return -std::numeric_limits<double>::infinity();
        double out = 0;
        const char* const end = digits.data() + digits.size();
        const auto [last, problem] = std::from_chars(digits.data(), end, out);
        if (digits.empty()) fail(std::string("a number is expected, not '") + (at_end() ? "the end of the file" : std::string(1, peek())) + "'");
        if (problem != std::errc() || last != end) fail("'" + digits + "' is not a number");
        return out;
    }

    std::vector<TableRow> rows() {
        std::vector<TableRow> out;
        TableRow row{line_, {}};
        const auto end_row = [&] {
            if (!row.value.empty()) out.push_back(std::move(row));
            row = {line_, {}};
        };
        for (;;) {
            blanks();
            if (at_end()) fail("a table without its ']'");
            const char c = peek();
            if (c == ']') break;
            if (c == ',' || c == ';' || c == '\n') {
                take();
                if (c != ',') end_row();
                continue;
            }
            if (row.value.empty()) row.line = line_;
            row.value.push_back(number());
        }
        take();
        end_row();
        return out;
    }

    /// Whether an assignment to a member of the struct has been read.
    bool member(MatlabTables& out) {
        const std::size_t begin = at_;
        const int line = line_;
        if (text_.compare(at_, of_.size() + 1, of_ + ".") != 0) return false;
        at_ += of_.size() + 1;
        const std::string what = name();
        blanks();
        if (peek() == '(') fail("'" + of_ + "." + what + "' is changed by a statement; only tables of numbers are read: write the case with its final values");
        if (peek() != '=') return undo(begin, line);
        take();
        blanks();
        if (peek() == '[') {
            take();
            out.table[what] = rows();
        } else if (peek() == '\'') {
            take();
            out.text[what] = quoted();
        } else if (peek() == '{') {
            return undo(begin, line);
        } else {
            out.number[what] = number();
        }
        blanks();
        if (!at_end() && peek() != ';' && peek() != '\n' && peek() != ',') fail("'" + of_ + "." + what + "' is computed; only numbers and tables of numbers are read");
        return true;
    }
    bool undo(std::size_t begin, int line) {
        at_ = begin;
        line_ = line;
        return false;
    }

    const std::string& text_;
    const std::string& of_;
    const std::string& origin_;
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace

MatlabTables read_matlab_tables(const std::string& text, const std::string& of, const std::string& origin) { return Scanner(text, of, origin).run(); }

}  // namespace emt
