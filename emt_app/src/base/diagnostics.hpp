// Problems found in a case, collected so that one run of `emt check` shows them all.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace emt {

struct Problem {
    std::string where;    // "elements[3] 'L1' (line)"
    std::string rule;     // short name of the broken rule, e.g. "line-shorter-than-step"
    std::string message;  // what is wrong and how to mend it
};

class Diagnostics {
public:
    void add(std::string where, std::string rule, std::string message) {
        problems_.push_back({std::move(where), std::move(rule), std::move(message)});
    }
    [[nodiscard]] bool empty() const { return problems_.empty(); }
    [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
    /// One line per problem: `where: [rule] message`.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (const Problem& p : problems_) out += p.where + ": [" + p.rule + "] " + p.message + "\n";
        return out;
    }

private:
    std::vector<Problem> problems_;
};

/// A case that cannot be simulated; `what()` lists every problem found.
class CaseError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace emt
