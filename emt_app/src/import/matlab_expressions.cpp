#include "import/matlab_expressions.hpp"

#include <algorithm>

#include "base/diagnostics.hpp"
#include "import/matlab_functions.hpp"

namespace emt {
namespace {

constexpr double kWork = 5e8;               // limits of a file: words passed, and numbers computed or copied
constexpr std::size_t kDepth = 200;         // of expressions and blocks within each other
constexpr std::size_t kMember = 16;         // numbers that a member counts as, beside its own numbers

/// Returns the number of numbers in a value with all its members.
std::size_t weight(const MatlabValue& value, std::size_t depth = 0) {
    if (depth > kMatlabMembers) throw MatlabError("structures are nested more than " + std::to_string(kMatlabMembers) + " deep");
    std::size_t out = kMember + value.number.size();
    for (const auto& [name, member] : value.member) out += weight(member, depth + 1);
    if (out > 2 * kMatlabNumbers) throw MatlabError("a structure of more than " + std::to_string(kMatlabNumbers) + " numbers");
    return out;
}

}  // namespace

MatlabExpressions::MatlabExpressions(const std::string& text, const std::string& origin) : origin_(origin), token_(matlab_tokens(text, origin)) {}

MatlabExpressions::Deeper::Deeper(MatlabExpressions& of) : of_(of) {
    if (++of_.depth_ > kDepth) of_.fail("nested more than " + std::to_string(kDepth) + " deep");
}

const MatlabToken& MatlabExpressions::next() {
    const MatlabToken& t = token_[at_];
    if (at_ + 1 < token_.size()) ++at_;
    worked(1);
    return t;
}

void MatlabExpressions::fail(const std::string& what) const { throw CaseError(origin_ + ", line " + std::to_string(line_ > 0 ? line_ : now().line) + ": " + what + "\n"); }

std::string MatlabExpressions::shown() const {
    if (now().kind == Kind::end_of_file) return "the end of the file";
    if (now().kind == Kind::end_of_statement) return "the end of the statement";
    return "'" + std::string(now().word.substr(0, 40)) + "'";
}

void MatlabExpressions::unexpected(const std::string& wanted) const { fail(wanted + " is expected, not " + shown()); }

void MatlabExpressions::need(const char* symbol) {
    if (!now().is(symbol)) unexpected(std::string("'") + symbol + "'");
    next();
}

std::string MatlabExpressions::name() {
    if (now().kind != Kind::name) unexpected("a name");
    return std::string(next().word);
}

void MatlabExpressions::worked(std::size_t amount) {
    work_ += static_cast<double>(amount);
    if (work_ > kWork) fail("the file computes too much to be a case");
}

const MatlabValue& MatlabExpressions::counted(const MatlabValue& value) {
    worked(weight(value));
    return value;
}

MatlabValue MatlabExpressions::counted(MatlabValue&& value) {
    counted(static_cast<const MatlabValue&>(value));
    return std::move(value);
}

/// `a || b`. Evaluates both sides, since neither changes anything.
MatlabValue MatlabExpressions::either() {
    const Deeper deeper(*this);
    MatlabValue left = both();
    while (now().is("||")) {
        next();
        left = truth(left) | truth(both());
        left.logical = true;
    }
    return left;
}

MatlabValue MatlabExpressions::both() {
    MatlabValue left = level(0);
    while (now().is("&&")) {
        next();
        left = truth(left) & truth(level(0));
        left.logical = true;
    }
    return left;
}

int MatlabExpressions::truth(const MatlabValue& value) const {
    if (!value.scalar()) fail("a single truth value is expected");
    return value.number[0] != 0 ? 1 : 0;
}

/// 0: |; 1: &; 2: comparisons; 3: ranges; 4: sums; 5: products.
MatlabValue MatlabExpressions::level(int depth) {
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

MatlabValue MatlabExpressions::range() {
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

double MatlabExpressions::the_number(const MatlabValue& value) const {
    if (!value.scalar()) fail("a range needs single numbers");
    return value.number[0];
}

MatlabValue MatlabExpressions::signs() {
    const Deeper deeper(*this);
    for (const char sign : {'-', '+', '~'})
        if (now().is(std::string_view(&sign, 1))) {
            next();
            return counted(matlab_unary(sign, signs()));
        }
    return power();
}

MatlabValue MatlabExpressions::power() {
    MatlabValue left = postfix();
    while (now().is("^") || now().is(".^")) {
        const std::string operation(next().word);
        // A sign of the exponent belongs to the exponent.
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

MatlabValue MatlabExpressions::postfix() {
    MatlabValue value = primary();
    while (now().is("'") || now().is(".'")) {
        next();
        value = counted(matlab_transposed(value));
    }
    return value;
}

MatlabValue MatlabExpressions::primary() {
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

MatlabValue MatlabExpressions::text() {
    const std::string_view word = next().word;
    MatlabValue out;
    out.kind = MatlabValue::Kind::text;
    for (std::size_t i = 0; i < word.size(); ++i) {
        out.text += word[i];
        if ((word[i] == '\'' || word[i] == '"') && i + 1 < word.size() && word[i + 1] == word[i]) ++i;
    }
    return out;
}

/// Skips a table of cells: a case needs none of its names, kinds and fuels.
MatlabValue MatlabExpressions::cell() {
    int depth = 0;
    do {
        depth += now().is("{") ? 1 : now().is("}") ? -1 : 0;
        next();
    } while (depth > 0);
    MatlabValue out;
    out.kind = MatlabValue::Kind::cell;
    return out;
}

MatlabValue MatlabExpressions::table() {
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

/// Appends a row with as many numbers as the rows before; returns false for other rows. `width` is 0 before the first
/// row.
bool MatlabExpressions::plain_row(MatlabValue& out, std::size_t& width) {
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

/// Reads a variable with its members and indices, or a call.
MatlabValue MatlabExpressions::named() {
    const std::string begin = name();
    if (begin == "end") return last_place();
    const auto it = variable_.find(begin);
    if (it == variable_.end()) {
        std::vector<MatlabValue> results = call(begin, now().is("(") ? arguments() : std::vector<MatlabValue>{});
        if (now().is("(") || now().is(".") || now().is("{")) fail("an index or member of a function's result is not evaluated");
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
    if (now().is("(") || now().is(".") || now().is("{")) fail("a second index or member is not evaluated");
    return counted(matlab_taken(*value, at));
}

std::vector<MatlabValue> MatlabExpressions::call(const std::string& function, const std::vector<MatlabValue>& given) {
    std::optional<std::vector<MatlabValue>> results;
    try {
        results = matlab_call(function, given);
    } catch (const MatlabError& e) {
        fail("'" + function + "': " + e.what());
    }
    if (!results) fail("'" + function + "' is neither a value of this file nor a function that is evaluated: write the case with its final values");
    return *results;
}

std::vector<MatlabValue> MatlabExpressions::arguments() {
    std::vector<MatlabValue> out;
    for (const auto& index : listed(nullptr)) out.push_back(index.value_or(MatlabValue()));
    return out;
}

MatlabIndices MatlabExpressions::indices(const MatlabValue* of) {
    MatlabIndices out;
    for (const auto& index : listed(of)) out.push_back(index ? matlab_index(*index) : MatlabIndex{.all = true});
    return out;
}

/// Reads the values in parentheses; a colon gives no value. `of` gives `end` its meaning.
std::vector<std::optional<MatlabValue>> MatlabExpressions::listed(const MatlabValue* of) {
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

/// Returns true if the parentheses that have just begun hold exactly one value.
bool MatlabExpressions::has_one() const {
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
MatlabValue MatlabExpressions::last_place() const {
    if (indexed_.table == nullptr) fail("'end' needs a table");
    const MatlabValue& table = *indexed_.table;
    return static_cast<double>(indexed_.alone ? table.number.size() : indexed_.position == 0 ? table.rows : table.columns);
}

}  // namespace emt
