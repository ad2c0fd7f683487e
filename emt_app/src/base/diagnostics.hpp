// Problems found in a case, collected so that one run of `emt check` shows them all.
#pragma once
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace emt {

struct Problem {
    std::string where;    // "elements[3] 'L1' (line)"
    std::string rule;     // short name of the broken rule, e.g. "line-shorter-than-step"
    std::string message;  // the fault and its remedy
};

class Diagnostics {
public:
    void add(std::string where, std::string rule, std::string message) {
        problems_.push_back({std::move(where), std::move(rule), std::move(message)});
    }
    [[nodiscard]] bool empty() const { return problems_.empty(); }
    [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
    /// Returns one line per problem, `where: [rule] message`; beyond `shown` problems, their number.
    [[nodiscard]] std::string text(std::size_t shown = std::numeric_limits<std::size_t>::max()) const {
        std::string out;
        for (std::size_t i = 0; i < problems_.size() && i < shown; ++i)
            out += problems_[i].where + ": [" + problems_[i].rule + "] " + problems_[i].message + "\n";
        if (problems_.size() > shown) out += "... and " + std::to_string(problems_.size() - shown) + " more\n";
        return out;
    }

private:
    std::vector<Problem> problems_;
};

/// A case that cannot be simulated; `what()` lists every problem found.
class CaseError : public std::runtime_error {
public:
    explicit CaseError(const std::string& message) : std::runtime_error(message), brief_(message) {}
    CaseError(const std::string& origin, const Diagnostics& problems)
        : std::runtime_error(title(origin, problems) + problems.text()), brief_(title(origin, problems) + problems.text(kBrief)) {}
    /// Returns the first problems only, for users who run the case and do not repair it.
    [[nodiscard]] const std::string& brief() const { return brief_; }

private:
    static constexpr std::size_t kBrief = 20;
    static std::string title(const std::string& origin, const Diagnostics& problems) {
        return origin + ": " + std::to_string(problems.problems().size()) + " problem(s)\n";
    }
    std::string brief_;
};

}  // namespace emt
