#include "import/matlab_program.hpp"

#include <algorithm>
#include <vector>

#include "base/diagnostics.hpp"
#include "import/matlab_expressions.hpp"
#include "import/matlab_functions.hpp"

namespace emt {
namespace {

constexpr long kStatements = 1'000'000;  // statements that a file may execute

class Program : MatlabExpressions {
public:
    Program(const std::string& text, const std::string& origin) : MatlabExpressions(text, origin) {}

    MatlabVariables run() {
        while (now().kind == Kind::end_of_statement) next();
        if (now().is_keyword("function")) header();
        try {
            function_ = !result_.empty();
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
            if (flow == Flow::broken || flow == Flow::continued) fail("'break' and 'continue' need a loop");
        } catch (const MatlabError& e) {
            fail(e.what());
        }
        return {std::move(variable_), std::move(result_)};
    }

private:
    enum class Flow { go, returned, broken, continued };
    struct Place {  // the target of an assignment
        std::vector<std::string> path;
        bool indexed = false;
        MatlabIndices indices;
    };

    /// function NAME = NAME(…), or without a result.
    void header() {
        next();
        line_ = now().line;
        if (now().is("[")) {
            next();
            result_ = name();
            if (!now().is("]")) fail("a function of several results is a case of version 1, and only version 2 is read");
            next();
        } else {
            result_ = name();
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

    /// Goes to the end of a block, without consuming it.
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

    /// Returns true if this statement has an "=" outside of brackets.
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

    /// A statement without assignment only shows a value.
    void bare() {
        if (now().kind == Kind::name && now().word == "define_constants" && peek().kind == Kind::end_of_statement) {
            next();
            for (const auto& [constant, value] : matpower_constants()) variable_[constant] = value;
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
        if (now().kind != Kind::name || variable_.contains(std::string(now().word))) fail("only a function returns several values");
        const std::string called = name();
        const std::vector<MatlabValue> results = call(called, now().is("(") ? arguments() : std::vector<MatlabValue>{});
        if (results.size() < into.size()) fail("'" + called + "' returns " + std::to_string(results.size()) + " values, not " + std::to_string(into.size()));
        for (std::size_t i = 0; i < into.size(); ++i)
            if (!into[i].path.empty()) put(into[i], results[i]);
    }
    Place place() {
        Place out{{name()}, false, {}};
        while (now().is(".")) {
            next();
            out.path.push_back(name());
            if (out.path.size() > kMatlabMembers) fail("structures are nested more than " + std::to_string(kMatlabMembers) + " deep");
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
    /// Returns the base of an index, or nothing if it does not exist yet.
    [[nodiscard]] const MatlabValue* existing(const std::vector<std::string>& path) const {
        const std::map<std::string, MatlabValue>* in = &variable_;
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
        MatlabValue* found = &variable_[place.path[0]];
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
    /// Goes to the "else", "elseif" or "end" of this block, without consuming it.
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
            if (flow == Flow::broken) break;
            if (flow == Flow::go && !now().is_keyword("end")) fail("this block has no 'end'");
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
            if (flow == Flow::broken) break;
            if (flow == Flow::go && !now().is_keyword("end")) fail("this block has no 'end'");
        }
        at_ = begin;
        line_ = begun;
        to_end();
        return Flow::go;
    }

    bool function_ = false;
    std::string result_;
    long statements_ = 0;
};

}  // namespace

MatlabVariables run_matlab(const std::string& text, const std::string& origin) { return Program(text, origin).run(); }

}  // namespace emt
