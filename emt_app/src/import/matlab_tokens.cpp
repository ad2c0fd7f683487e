#include "import/matlab_tokens.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/diagnostics.hpp"

namespace emt {
namespace {

constexpr std::size_t kNesting = 100;  // of brackets

constexpr std::array<std::string_view, 18> kKeywords{"break", "case", "catch", "continue", "else", "elseif", "end", "for", "function",
                                                     "global", "if", "otherwise", "parfor", "persistent", "return", "switch", "try", "while"};
constexpr std::array<std::string_view, 11> kDouble{"==", "~=", "<=", ">=", "&&", "||", ".*", "./", ".\\", ".^", ".'"};
constexpr std::string_view kSingle = "+-*/\\^'=<>&|~()[]{},;:.@!";

bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

class Tokens {
public:
    Tokens(const std::string& text, const std::string& origin) : text_(text), origin_(origin) {}

    std::vector<MatlabToken> run() {
        for (;;) {
            const bool spaced = blanks();
            if (at_end()) break;
            if (peek() == '\n') {
                line_end();
                continue;
            }
            if (spaced && in_table() && after_value_ && begins_value()) {
                add(MatlabToken::Kind::symbol, ",");
                after_value_ = false;
            }
            token();
        }
        if (!open_.empty()) fail(std::string(1, open_.back()) + " is never closed");
        add(MatlabToken::Kind::end_of_statement, {});
        add(MatlabToken::Kind::end_of_file, {});
        return std::move(out_);
    }

private:
    [[nodiscard]] bool at_end(std::size_t ahead = 0) const { return at_ + ahead >= text_.size(); }
    [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_end(ahead) ? '\0' : text_[at_ + ahead]; }
    [[nodiscard]] bool in_table() const { return !open_.empty() && open_.back() != '('; }
    [[noreturn]] void fail(const std::string& what) const { throw CaseError(origin_ + ", line " + std::to_string(line_) + ": " + what + "\n"); }

    void add(MatlabToken::Kind kind, std::string_view word, double number = 0) { out_.push_back({kind, line_, number, word}); }

    void to_line_end() {
        while (!at_end() && peek() != '\n') ++at_;
    }
    /// Returns true if the rest of the line has only these two letters.
    [[nodiscard]] bool alone_on_line(std::string_view mark) const {
        std::size_t begin = at_, end = at_ + mark.size();
        if (text_.compare(at_, mark.size(), mark) != 0) return false;
        while (begin > 0 && (text_[begin - 1] == ' ' || text_[begin - 1] == '\t')) --begin;
        while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r')) ++end;
        return (begin == 0 || text_[begin - 1] == '\n') && (end == text_.size() || text_[end] == '\n');
    }
    /// Skips a comment of several lines, from %{ to %}, each alone on its line; such comments nest.
    void block_comment() {
        const int begun = line_;
        for (int depth = 0; !at_end();) {
            while (peek() == ' ' || peek() == '\t') ++at_;
            depth += alone_on_line("%{") ? 1 : alone_on_line("%}") ? -1 : 0;
            to_line_end();
            if (depth == 0) return;
            if (!at_end()) {
                ++at_;
                ++line_;
            }
        }
        line_ = begun;
        fail("the comment that %{ begins has no %}");
    }
    /// Skips blanks, comments and line ends that "..." continues; returns true if there were any.
    bool blanks() {
        const std::size_t begin = at_;
        while (!at_end()) {
            if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
                ++at_;
            } else if (peek() == '.' && peek(1) == '.' && peek(2) == '.') {
                to_line_end();
                if (at_end()) break;
                ++at_;
                ++line_;
            } else if (peek() == '%') {
                if (alone_on_line("%{")) block_comment();
                else to_line_end();
            } else {
                break;
            }
        }
        return at_ > begin;
    }
    void line_end() {
        if (!open_.empty() && open_.back() == '(') fail("the line ends inside of parentheses, without \"...\"");
        if (in_table()) add(MatlabToken::Kind::symbol, ";");
        else add(MatlabToken::Kind::end_of_statement, {});
        after_value_ = false;
        ++at_;
        ++line_;
    }
    /// Returns true if the text after a value and a blank inside [ ] begins the next column. In `1 - 2` the sign is an
    /// operator, in `1 -2` it begins a column.
    [[nodiscard]] bool begins_value() const {
        const char c = peek(), next = peek(1);
        if (c == '+' || c == '-') return next != ' ' && next != '\t' && next != '=';
        if (c == '~') return next != '=';
        if (c == '.') return digit(next);
        return word_letter(c) || c == '\'' || c == '"' || c == '(' || c == '[' || c == '{' || c == '@';
    }

    void token() {
        const char c = peek();
        if (digit(c) || (c == '.' && digit(peek(1)))) return number();
        if (word_letter(c)) return name();
        if (c == '"' || (c == '\'' && !after_value_)) return quoted(c);
        if ((c == ';' || c == ',') && open_.empty()) {
            add(MatlabToken::Kind::end_of_statement, {});
            after_value_ = false;
            ++at_;
            return;
        }
        symbol();
    }
    void number() {
        const std::size_t begin = at_;
        const auto digits = [&] {
            while (digit(peek())) ++at_;
        };
        digits();
        if (peek() == '.' && std::string_view("*/\\^'").find(peek(1)) == std::string_view::npos) {
            ++at_;
            digits();
        }
        if (const char e = peek(); e == 'e' || e == 'E' || e == 'd' || e == 'D') {
            const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
            if (digit(peek(sign))) {
                at_ += sign;
                digits();
            }
        }
        const std::size_t end = at_;
        while (word_letter(peek())) ++at_;
        const std::string_view word = std::string_view(text_).substr(begin, at_ - begin);
        std::string digits_text(word);
        std::replace_if(digits_text.begin(), digits_text.end(), [](char e) { return e == 'd' || e == 'D'; }, 'e');
        double value = 0;
        const char* const last = digits_text.data() + digits_text.size();
        const auto [stopped, problem] = std::from_chars(digits_text.data(), last, value);
        if (at_ > end || problem != std::errc() || stopped != last) fail("'" + std::string(word) + "' is not a number");
        add(MatlabToken::Kind::number, word, value);
        after_value_ = true;
    }
    void name() {
        const std::size_t begin = at_;
        while (word_letter(peek())) ++at_;
        const std::string_view word = std::string_view(text_).substr(begin, at_ - begin);
        const bool member = !out_.empty() && out_.back().is(".");
        const bool keyword = !member && open_.empty() && std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
        add(keyword ? MatlabToken::Kind::keyword : MatlabToken::Kind::name, word);
        after_value_ = !keyword;
    }
    void quoted(char quote) {
        const std::size_t begin = ++at_;
        for (;; ++at_) {
            if (at_end() || peek() == '\n') fail("a text lacks its closing quote");
            if (peek() != quote) continue;
            if (peek(1) != quote) break;
            ++at_;
        }
        add(MatlabToken::Kind::text, std::string_view(text_).substr(begin, at_ - begin));
        ++at_;
        after_value_ = true;
    }
    void symbol() {
        const std::string_view rest = std::string_view(text_).substr(at_);
        for (const std::string_view two : kDouble)
            if (rest.starts_with(two)) return add_symbol(two);
        const std::size_t known = kSingle.find(peek());
        if (known == std::string_view::npos) fail(std::isprint(static_cast<unsigned char>(peek())) != 0 ? std::string("'") + peek() + "' has no meaning here"
                                                                                                        : "a character that is no letter and no sign");
        const char c = peek();
        if (c == '(' || c == '[' || c == '{') {
            if (open_.size() >= kNesting) fail("brackets are nested more than " + std::to_string(kNesting) + " deep");
            open_.push_back(c);
        } else if (c == ')' || c == ']' || c == '}') {
            const char opened = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (open_.empty() || open_.back() != opened) fail(std::string(1, c) + " closes nothing");
            open_.pop_back();
        }
        add_symbol(kSingle.substr(known, 1));
    }
    void add_symbol(std::string_view symbol) {
        add(MatlabToken::Kind::symbol, symbol);
        at_ += symbol.size();
        after_value_ = symbol == ")" || symbol == "]" || symbol == "}" || symbol == "'" || symbol == ".'";
    }

    const std::string& text_;
    const std::string& origin_;
    std::vector<MatlabToken> out_;
    std::string open_;          // brackets
    bool after_value_ = false;  // the last token ends a value
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace

std::vector<MatlabToken> matlab_tokens(const std::string& text, const std::string& origin) { return Tokens(text, origin).run(); }

}  // namespace emt
