// Evaluates expressions of the MATLAB language in case files; matlab_program.cpp executes statements with them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/matlab_tokens.hpp"
#include "import/matlab_values.hpp"

namespace emt {

inline constexpr std::size_t kMatlabMembers = 20;  // of members of members

/// A place in the tokens of a file, and the values of its variables. All methods throw CaseError with the line.
class MatlabExpressions {
protected:
    using Kind = MatlabToken::Kind;

    /// `text` and `origin` must outlive this.
    MatlabExpressions(const std::string& text, const std::string& origin);

    [[nodiscard]] const MatlabToken& now() const { return token_[at_]; }
    [[nodiscard]] const MatlabToken& peek() const { return token_[at_ + 1 < token_.size() ? at_ + 1 : at_]; }
    const MatlabToken& next();
    void need(const char* symbol);
    std::string name();
    [[noreturn]] void fail(const std::string& what) const;
    [[noreturn]] void unexpected(const std::string& wanted) const;
    /// Adds a computed or copied value to the file's work, which is limited.
    const MatlabValue& counted(const MatlabValue& value);
    MatlabValue counted(MatlabValue&& value);

    MatlabValue expression() { return either(); }
    std::vector<MatlabValue> call(const std::string& function, const std::vector<MatlabValue>& given);
    std::vector<MatlabValue> arguments();
    /// `of` gives `end` its meaning.
    MatlabIndices indices(const MatlabValue* of);

    /// One level of nesting during its lifetime.
    class Deeper {
    public:
        explicit Deeper(MatlabExpressions& of);
        ~Deeper() { --of_.depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

    private:
        MatlabExpressions& of_;
    };

    const std::string& origin_;
    std::vector<MatlabToken> token_;
    std::map<std::string, MatlabValue> variable_;
    std::size_t at_ = 0;
    int line_ = 0;  // of the statement, or of the row of a table

private:
    struct Indexed {  // the indexed table, which of its indices is being evaluated, and whether it is the only one
        const MatlabValue* table;
        std::size_t position;
        bool alone;
    };

    [[nodiscard]] std::string shown() const;
    void worked(std::size_t amount);

    // From the operator that binds least.
    MatlabValue either();
    MatlabValue both();
    [[nodiscard]] int truth(const MatlabValue& value) const;
    MatlabValue level(int depth);
    MatlabValue range();
    [[nodiscard]] double the_number(const MatlabValue& value) const;
    MatlabValue signs();
    MatlabValue power();
    MatlabValue postfix();
    MatlabValue primary();
    MatlabValue text();
    MatlabValue cell();
    MatlabValue table();
    bool plain_row(MatlabValue& out, std::size_t& width);
    MatlabValue named();
    std::vector<std::optional<MatlabValue>> listed(const MatlabValue* of);
    [[nodiscard]] bool has_one() const;
    [[nodiscard]] MatlabValue last_place() const;

    std::size_t depth_ = 0;
    double work_ = 0;
    Indexed indexed_{nullptr, 0, false};
};

}  // namespace emt
