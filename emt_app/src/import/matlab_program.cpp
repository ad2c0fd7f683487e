#include "import/matlab_program.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/diagnostics.hpp"
#include "import/matlab_functions.hpp"
#include "import/matlab_tokens.hpp"

namespace emt {
namespace {

constexpr long kStatements = 1'000'000;     // that a file may execute
constexpr double kWork = 5e8;               // words that it may pass, and numbers that it may compute or copy
constexpr std::size_t kDepth = 200;         // of expressions and blocks within each other
constexpr std::size_t kMembers = 20;        // of members of members
constexpr std::size_t kMember = 16;         // numbers that a member counts as, beside its own

/// How many numbers a value holds with all its members.
std::size_t weight(const MatlabValue& value, std::size_t depth = 0) {
    if (depth > kMembers) throw MatlabError("structures are nested more than " + std::to_string(kMembers) + " deep");
    std::size_t out = kMember + value.number.size();
    for (const auto& [name, member] : value.member) out += weight(member, depth + 1);
    if (out > 2 * kMatlabNumbers) throw MatlabError("a structure of more than " + std::to_string(kMatlabNumbers) + " numbers");
    return out;
}

class Program {
public:
    Program(const std::string& text, const std::string& origin) : origin_(origin), token_(matlab_tokens(text, origin)) {}

    MatlabVariables run() {
        while (now().kind == Kind::end_of_statement) next();
        if (now().is_keyword("function")) header();
        try {
            function_ = !out_.result.empty();
            const Flow flow = block();
            line_ = now().line;
            if (flow == Flow::go && now().kind != Kind::end_of_file && !now().is_keyword("function") && !(function_ && now().is_keyword("end")))
                fail("'" + std::string(now().word) + "' closes nothing");
            if (flow == Flow::go && function_ && now().is_keyword("end")) {
                next();
                while (now().kind == Kind::end_of_statement) next();
                line_ = now().line;
                if (now().kind != Kind::end_of_file && !now().is_keyword("function")) fail("statements follow the end of the function");
            }
            if (flow == Flow::broken || flow == Flow::continued) fail("no loop is here to be left");
        } catch (const MatlabError& e) {
            fail(e.what());
        }
        return std::move(out_);
    }

private:
    using Kind = MatlabToken::Kind;
    enum class Flow { go, returned, broken, continued };
    struct Place {  // what is assigned to
        std::vector<std::string> path;
        bool indexed = false;
        MatlabIndices indices;
    };

    [[nodiscard]] const MatlabToken& now() const { return token_[at_]; }
    [[nodiscard]] const MatlabToken& peek() const { return token_[std::min(at_ + 1, token_.size() - 1)]; }
    const MatlabToken& next() {
        const MatlabToken& t = token_[at_];
        if (at_ + 1 < token_.size()) ++at_;
        worked(1);
        return t;
    }
    [[noreturn]] void fail(const std::string& what) const { throw CaseError(origin_ + ", line " + std::to_string(line_ > 0 ? line_ : now().line) + ": " + what + "\n"); }
    [[nodiscard]] std::string shown() const {
        if (now().kind == Kind::end_of_file) return "the end of the file";
        if (now().kind == Kind::end_of_statement) return "the end of the statement";
        return "'" + std::string(now().word.substr(0, 40)) + "'";
    }
    [[noreturn]] void unexpected(const std::string& wanted) const { fail(wanted + " is expected, not " + shown()); }
    void need(const char* symbol) {
        if (!now().is(symbol)) unexpected(std::string("'") + symbol + "'");
        next();
    }
    std::string name() {
        if (now().kind != Kind::name) unexpected("a name");
        return std::string(next().word);
    }
    void worked(std::size_t amount) {
        work_ += static_cast<double>(amount);
        if (work_ > kWork) fail("the file computes too much to be a case");
    }
    /// A value that has been computed or copied.
    const MatlabValue& counted(const MatlabValue& value) {
        worked(weight(value));
        return value;
    }
    MatlabValue counted(MatlabValue&& value) {
        counted(static_cast<const MatlabValue&>(value));
        return std::move(value);
    }
    class Deeper {
    public:
        explicit Deeper(Program& of) : of_(of) {
            if (++of_.depth_ > kDepth) of_.fail("nested more than " + std::to_string(kDepth) + " deep");
        }
        ~Deeper() { --of_.depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

    private:
        Program& of_;
    };

    /// function NAME = NAME(…), or without a result.
    void header() {
        next();
        line_ = now().line;
        if (now().is("[")) {
            next();
            out_.result = name();
            if (!now().is("]")) fail("a function of several results is a case of version 1, and only version 2 is read");
            next();
        } else {
            out_.result = name();
        }
        if (now().is("=")) {
            next();
            name();
        } else {
            fail("the function returns nothing");
        }
        if (now().is("("))
            while (!now().is(")") && now().kind != Kind::end_of_file) next();
        if (now().is(")")) next();
    }

    // Statements.

    /// To the end of a block, which is not taken.
    Flow block() {
        const Deeper deeper(*this);
        for (;;) {
            if (now().kind == Kind::end_of_statement) {
                next();
                continue;
            }
            if (now().kind == Kind::end_of_file || now().is_keyword("end") || now().is_keyword("else") || now().is_keyword("elseif") || now().is_keyword("function"))
                return Flow::go;
            if (const Flow flow = statement(); flow != Flow::go) return flow;
        }
    }

    Flow statement() {
        line_ = now().line;
        if (++statements_ > kStatements) fail("the file takes more than " + std::to_string(kStatements) + " statements");
        if (now().kind == Kind::keyword) {
            const std::string_view word = next().word;
            if (word == "if") return branches();
            if (word == "for") return counted_loop();
            if (word == "while") return loop();
            if (word == "return") return Flow::returned;
            if (word == "break") return Flow::broken;
            if (word == "continue") return Flow::continued;
            fail("'" + std::string(word) + "' is not evaluated: write the case with its final values");
        }
        if (assigns()) assignment();
        else bare();
        if (now().kind != Kind::end_of_statement) unexpected("the end of the statement");
        return Flow::go;
    }

    /// Whether an "=" outside of brackets is in this statement.
    [[nodiscard]] bool assigns() const {
        int depth = 0;
        for (std::size_t i = at_; token_[i].kind != Kind::end_of_statement && token_[i].kind != Kind::end_of_file; ++i) {
            const MatlabToken& t = token_[i];
            if (t.kind != Kind::symbol) continue;
            if (t.is("(") || t.is("[") || t.is("{")) ++depth;
            if (t.is(")") || t.is("]") || t.is("}")) --depth;
            if (depth == 0 && t.is("=")) return true;
        }
        return false;
    }

    /// A statement that assigns nothing, whose effect is only what it shows.
    void bare() {
        if (now().kind == Kind::name && now().word == "define_constants" && peek().kind == Kind::end_of_statement) {
            next();
            for (const auto& [constant, value] : matpower_constants()) out_.value[constant] = value;
            return;
        }
        static_cast<void>(expression());
    }

    void assignment() {
        if (now().is("[")) return several();
        const Place into = place();
        need("=");
        if (into.indexed && now().is("[") && peek().is("]")) {
            next();
            next();
            matlab_removed(target(into), into.indices);
            return;
        }
        put(into, expression());
    }
    /// [a, b, ~] = f(…)
    void several() {
        next();
        std::vector<Place> into;
        while (!now().is("]")) {
            if (now().is(",")) {
                next();
            } else if (now().is("~")) {
                next();
                into.emplace_back();
            } else {
                into.push_back(place());
            }
        }
        next();
        need("=");
        if (now().kind != Kind::name || out_.value.contains(std::string(now().word))) fail("several values are assigned that no function returns");
        const std::string called = name();
        const std::vector<MatlabValue> results = call(called, now().is("(") ? arguments(nullptr) : std::vector<MatlabValue>{});
        if (results.size() < into.size()) fail("'" + called + "' returns " + std::to_string(results.size()) + " values, not " + std::to_string(into.size()));
        for (std::size_t i = 0; i < into.size(); ++i)
            if (!into[i].path.empty()) put(into[i], results[i]);
    }
    Place place() {
        Place out{{name()}, false, {}};
        while (now().is(".")) {
            next();
            out.path.push_back(name());
            if (out.path.size() > kMembers) fail("structures are nested more than " + std::to_string(kMembers) + " deep");
        }
        if (now().is("(")) {
            out.indexed = true;
            out.indices = indices(existing(out.path));
            if (now().is(".")) fail("a table of structures is not evaluated");
        } else if (now().is("{")) {
            fail("a place of a cell is not evaluated: write the case with its final values");
        }
        return out;
    }
    /// Of which an index is taken, or nothing if there is none yet.
    [[nodiscard]] const MatlabValue* existing(const std::vector<std::string>& path) const {
        const std::map<std::string, MatlabValue>* in = &out_.value;
        const MatlabValue* found = nullptr;
        for (const std::string& step : path) {
            const auto it = in->find(step);
            if (it == in->end()) return nullptr;
            found = &it->second;
            in = &found->member;
        }
        return found;
    }
    MatlabValue& target(const Place& place) {
        MatlabValue* found = &out_.value[place.path[0]];
        for (std::size_t i = 1; i < place.path.size(); ++i) {
            const bool fresh = found->is_matrix() && found->number.empty();
            if (!fresh && found->kind != MatlabValue::Kind::structure) fail("'" + place.path[i - 1] + "' has no members");
            found->kind = MatlabValue::Kind::structure;
            found = &found->member[place.path[i]];
        }
        return *found;
    }
    void put(const Place& place, const MatlabValue& value) {
        counted(value);
        MatlabValue& into = target(place);
        if (place.indexed) {
            if (place.indices.size() == 1 && place.indices[0].all) counted(into);
            matlab_put(into, place.indices, value, line_);
        } else {
            into = value;
        }
    }

    bool condition() {
        const MatlabValue value = expression();
        if (!value.is_matrix()) fail("a condition needs numbers");
        return !value.number.empty() && std::all_of(value.number.begin(), value.number.end(), [](double x) { return x != 0; });
    }
    /// To the "else", "elseif" or "end" of this block, which is not taken.
    void pass_over() {
        const int begun = line_;
        for (int depth = 0; now().kind != Kind::end_of_file; next()) {
            if (now().kind != Kind::keyword) continue;
            const std::string_view word = now().word;
            if (word == "if" || word == "for" || word == "while" || word == "switch" || word == "try" || word == "parfor") ++depth;
            if (depth == 0 && (word == "else" || word == "elseif" || word == "end")) return;
            if (word == "end") --depth;
        }
        line_ = begun;
        fail("this block has no 'end'");
    }
    void to_end() {
        pass_over();
        while (!now().is_keyword("end")) {
            next();
            pass_over();
        }
        next();
    }
    Flow branches() {
        const int begun = line_;
        bool taken = condition();
        for (;;) {
            if (taken) {
                const Flow flow = block();
                if (flow != Flow::go) return flow;
                line_ = begun;
                if (now().kind == Kind::end_of_file || now().is_keyword("function")) fail("this block has no 'end'");
                to_end();
                return Flow::go;
            }
            pass_over();
            const std::string_view word = next().word;
            if (word == "end") return Flow::go;
            taken = word == "else" || condition();
        }
    }
    Flow counted_loop() {
        const bool enclosed = now().is("(");
        if (enclosed) next();
        const std::string variable = name();
        need("=");
        const MatlabValue over = expression();
        if (enclosed) need(")");
        if (!over.is_matrix()) fail("a loop needs numbers");
        const std::size_t body = at_;
        const int begun = line_;
        for (std::size_t k = 0; k < over.columns; ++k) {
            at_ = body;
            line_ = begun;
            if (++statements_ > kStatements) fail("the file takes more than " + std::to_string(kStatements) + " statements");
            put(Place{{variable}, false, {}}, matlab_taken(over, {MatlabIndex{.all = true}, MatlabIndex{.places = {k}}}));
            const Flow flow = block();
            if (flow == Flow::returned) return flow;
            if (flow == Flow::go && function_ && now().is_keyword("end")) {
                next();
                while (now().kind == Kind::end_of_statement) next();
                if (now().kind != Kind::end_of_file && !now().is_keyword("function")) fail("statements follow the end of the function");
            }
            if (flow == Flow::broken) break;
        }
        at_ = body;
        line_ = begun;
        to_end();
        return Flow::go;
    }
    Flow loop() {
        const std::size_t begin = at_;
        const int begun = line_;
        for (;;) {
            at_ = begin;
            line_ = begun;
            if (++statements_ > kStatements) fail("the file takes more than " + std::to_string(kStatements) + " statements");
            if (!condition()) break;
            const Flow flow = block();
            if (flow == Flow::returned) return flow;
            if (flow == Flow::go && function_ && now().is_keyword("end")) {
                next();
                while (now().kind == Kind::end_of_statement) next();
                if (now().kind != Kind::end_of_file && !now().is_keyword("function")) fail("statements follow the end of the function");
            }
            if (flow == Flow::broken) break;
        }
        at_ = begin;
        line_ = begun;
        to_end();
        return Flow::go;
    }

    // Expressions, from the operator that binds least.

    MatlabValue expression() { return either(); }

    /// `a || b`. Both sides are evaluated: neither changes anything.
    MatlabValue either() {
        const Deeper deeper(*this);
        MatlabValue left = both();
        while (now().is("||")) {
            next();
            left = truth(left) | truth(both());
            left.logical = true;
        }
        return left;
    }
    MatlabValue both() {
        MatlabValue left = level(0);
        while (now().is("&&")) {
            next();
            left = truth(left) & truth(level(0));
            left.logical = true;
        }
        return left;
    }
    [[nodiscard]] int truth(const MatlabValue& value) const {
        if (!value.scalar()) fail("a single truth value is expected");
        return value.number[0] != 0 ? 1 : 0;
    }

    /// 0: |; 1: &; 2: comparisons; 3: ranges; 4: sums; 5: products.
    MatlabValue level(int depth) {
        static const std::vector<std::vector<const char*>> kOperators{{"|"}, {"&"}, {"==", "~=", "<", ">", "<=", ">="}, {}, {"+", "-"}, {"*", "/", "\\", ".*", "./", ".\\"}};
        if (depth == 3) return range();
        if (depth == 6) return signs();
        MatlabValue left = level(depth + 1);
        for (;;) {
            const auto& here = kOperators[static_cast<std::size_t>(depth)];
            const auto it = std::find_if(here.begin(), here.end(), [&](const char* o) { return now().is(o); });
            if (it == here.end()) return left;
            next();
            left = counted(matlab_binary(*it, left, level(depth + 1)));
        }
    }
    MatlabValue range() {
        MatlabValue first = level(4);
        if (!now().is(":") || peek().is(")") || peek().is(",")) return first;
        next();
        MatlabValue last = level(4);
        double step = 1;
        if (now().is(":")) {
            next();
            step = the_number(last);
            last = level(4);
        }
        return counted(matlab_range(the_number(first), step, the_number(last)));
    }
    [[nodiscard]] double the_number(const MatlabValue& value) const {
        if (!value.scalar()) fail("a range needs single numbers");
        return value.number[0];
    }
    MatlabValue signs() {
        const Deeper deeper(*this);
        for (const char sign : {'-', '+', '~'})
            if (now().is(std::string_view(&sign, 1))) {
                next();
                return counted(matlab_unary(sign, signs()));
            }
        return power();
    }
    MatlabValue power() {
        MatlabValue left = postfix();
        while (now().is("^") || now().is(".^")) {
            const std::string operation(next().word);
            // A sign of the exponent binds to it.
            MatlabValue right;
            if (now().is("-") || now().is("+") || now().is("~")) {
                const char sign = next().word[0];
                right = matlab_unary(sign, postfix());
            } else {
                right = postfix();
            }
            left = counted(matlab_binary(operation, left, right));
        }
        return left;
    }
    MatlabValue postfix() {
        MatlabValue value = primary();
        while (now().is("'") || now().is(".'")) {
            next();
            value = counted(matlab_transposed(value));
        }
        return value;
    }
    MatlabValue primary() {
        const Deeper deeper(*this);
        if (now().kind == Kind::number) return next().number;
        if (now().kind == Kind::text) return text();
        if (now().is("(")) {
            next();
            MatlabValue inner = expression();
            need(")");
            return inner;
        }
        if (now().is("[")) return table();
        if (now().is("{")) return cell();
        if (now().kind != Kind::name) unexpected("a value");
        return named();
    }
    MatlabValue text() {
        const std::string_view word = next().word;
        MatlabValue out;
        out.kind = MatlabValue::Kind::text;
        for (std::size_t i = 0; i < word.size(); ++i) {
            out.text += word[i];
            if ((word[i] == '\'' || word[i] == '"') && i + 1 < word.size() && word[i + 1] == word[i]) ++i;
        }
        return out;
    }
    /// Nothing of a case's cells is needed: names, kinds, fuels.
    MatlabValue cell() {
        int depth = 0;
        do {
            depth += now().is("{") ? 1 : now().is("}") ? -1 : 0;
            next();
        } while (depth > 0);
        MatlabValue out;
        out.kind = MatlabValue::Kind::cell;
        return out;
    }

    MatlabValue table() {
        next();
        std::vector<MatlabValue> rows, row;
        MatlabValue plain(0, 0);  // rows of plain numbers, together
        std::size_t width = 0;    // of the first row
        const auto end_row = [&](int line) {
            if (row.empty()) return;
            MatlabValue one = counted(matlab_beside(std::move(row)));
            row.clear();
            if (one.columns > 0) {
                if (width == 0) width = one.columns;
                line_ = line;
                if (one.columns != width) fail("a row of " + std::to_string(one.columns) + " columns in a table of " + std::to_string(width));
            }
            if (one.is_matrix() && one.rows == 1) one.line = {line};
            rows.push_back(std::move(one));
        };
        const auto end_plain = [&] {
            if (plain.rows > 0) rows.push_back(counted(std::move(plain)));
            plain = MatlabValue(0, 0);
        };
        for (;;) {
            while (now().is(";") || now().is(",")) next();
            if (now().is("]")) break;
            line_ = now().line;
            if (plain_row(plain, width)) continue;
            end_plain();
            const int line = line_;
            while (!now().is(";") && !now().is("]")) {
                if (now().is(",")) next();
                else row.push_back(expression());
            }
            end_row(line);
        }
        next();
        end_plain();
        return counted(matlab_below(std::move(rows)));
    }
    /// Appends a row of as many numbers as the rows before, if it is one; `width` is 0 before the first.
    bool plain_row(MatlabValue& out, std::size_t& width) {
        const std::size_t begin = at_, size = out.number.size();
        std::size_t columns = 0;
        const int line = now().line;
        for (;; ++columns) {
            if (now().is(";") || now().is("]")) break;
            const bool negative = now().is("-");
            if (negative) next();
            if (now().kind != Kind::number || !(peek().is(",") || peek().is(";") || peek().is("]"))) {
                columns = 0;
                break;
            }
            out.number.push_back(negative ? -next().number : next().number);
            if (now().is(",")) next();
        }
        if (columns == 0 || (width > 0 && columns != width)) {
            out.number.resize(size);
            at_ = begin;
            return false;
        }
        out.columns = width = columns;
        ++out.rows;
        out.line.push_back(line);
        return true;
    }

    /// A variable with its members and indices, or a call.
    MatlabValue named() {
        const std::string begin = name();
        if (begin == "end") return last_place();
        const auto it = out_.value.find(begin);
        if (it == out_.value.end()) {
            std::vector<MatlabValue> results = call(begin, now().is("(") ? arguments(nullptr) : std::vector<MatlabValue>{});
            if (now().is("(") || now().is(".") || now().is("{")) fail("what a function returns is not taken apart");
            return counted(std::move(results.front()));
        }
        const MatlabValue* value = &it->second;
        std::string path = begin;
        while (now().is(".")) {
            next();
            const std::string member = name();
            const auto inner = value->member.find(member);
            if (inner == value->member.end()) fail("'" + path + "' has no member '" + member + "'");
            value = &inner->second;
            path += "." + member;
        }
        if (now().is("{")) fail("a place of a cell is not evaluated: write the case with its final values");
        if (!now().is("(")) return counted(*value);
        const MatlabIndices at = indices(value);
        if (now().is("(") || now().is(".") || now().is("{")) fail("a part of a part is not evaluated");
        return counted(matlab_taken(*value, at));
    }
    std::vector<MatlabValue> call(const std::string& function, const std::vector<MatlabValue>& given) {
        std::optional<std::vector<MatlabValue>> results;
        try {
            results = matlab_call(function, given);
        } catch (const MatlabError& e) {
            fail("'" + function + "': " + e.what());
        }
        if (!results) fail("'" + function + "' is neither a value of this file nor a function that is evaluated: write the case with its final values");
        return *results;
    }
    std::vector<MatlabValue> arguments(const MatlabValue* of) {
        std::vector<MatlabValue> out;
        for (const auto& index : listed(of)) out.push_back(index.value_or(MatlabValue()));
        return out;
    }
    MatlabIndices indices(const MatlabValue* of) {
        MatlabIndices out;
        for (const auto& index : listed(of)) out.push_back(index ? matlab_index(*index) : MatlabIndex{.all = true});
        return out;
    }
    /// What stands in parentheses: values, or nothing for a colon. `of` gives `end` its meaning.
    std::vector<std::optional<MatlabValue>> listed(const MatlabValue* of) {
        need("(");
        std::vector<std::optional<MatlabValue>> out;
        const Indexed before = indexed_;
        indexed_ = {of, 0, has_one()};
        while (!now().is(")")) {
            indexed_.position = out.size();
            if (now().is(":") && (peek().is(",") || peek().is(")"))) {
                if (of == nullptr) fail("a colon needs a table");
                next();
                out.emplace_back();
            } else {
                out.emplace_back(expression());
            }
            if (now().is(",")) next();
            else if (!now().is(")")) unexpected("',' or ')'");
        }
        next();
        indexed_ = before;
        return out;
    }
    /// Whether one value only stands in the parentheses that have just begun.
    [[nodiscard]] bool has_one() const {
        int depth = 1;
        for (std::size_t i = at_; depth > 0; ++i) {
            const MatlabToken& t = token_[i];
            if (t.is("(") || t.is("[") || t.is("{")) ++depth;
            if (t.is(")") || t.is("]") || t.is("}")) --depth;
            if (depth == 1 && t.is(",")) return false;
        }
        return true;
    }
    /// The word `end` inside of an index.
    [[nodiscard]] MatlabValue last_place() const {
        if (indexed_.table == nullptr) fail("'end' needs a table");
        const MatlabValue& table = *indexed_.table;
        return static_cast<double>(indexed_.alone ? table.number.size() : indexed_.position == 0 ? table.rows : table.columns);
    }

    struct Indexed {  // the table whose index is evaluated, which of its indices, and whether there is only one
        const MatlabValue* table;
        std::size_t position;
        bool alone;
    };

    const std::string& origin_;
    std::vector<MatlabToken> token_;
    MatlabVariables out_;
    std::size_t at_ = 0, depth_ = 0;
    int line_ = 0;  // of the statement, or of the row of a table
    long statements_ = 0;
    double work_ = 0;
    bool function_ = false;
    Indexed indexed_{nullptr, 0, false};
};

}  // namespace

MatlabVariables run_matlab(const std::string& text, const std::string& origin) { return Program(text, origin).run(); }

}  // namespace emt
