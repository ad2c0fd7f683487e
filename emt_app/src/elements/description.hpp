// JSON Schema of the keys that a `read` function reads: its calls of a Reader declare them.
//
// Three decisions may change the keys: the presence of a key (Reader::has), the value of a choice, and the start of the
// case (Reader::steady_start). describe() runs the function over an empty object, once for every outcome of its
// decisions, and joins the runs: the common part of all, and a part for each outcome.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emt {

class Reader;
using Schema = nlohmann::ordered_json;

/// Its JSON Schema, and its name if it stands among the "$defs", where keys refer to it.
struct ValueKind {
    const char* schema;
    const char* name = nullptr;
};

struct Decision {
    enum class By { presence, choice, start };
    By by;
    std::string key;                     // empty for the start
    std::vector<std::string> outcomes;   // values of a choice; for a key: given, then left out
    std::string meaning{}, otherwise{};  // of a choice; `otherwise` is empty if the key is required
};

/// One run of a `read` function.
class Description {
public:
    using Decided = std::map<std::string, std::size_t>;  // outcomes, by the decision's key

    /// `defs` receives the kinds of values that have a name.
    Description(Schema& defs, Decided decided) : defs_(defs), decided_(std::move(decided)) {}

    Schema of(const ValueKind& kind);
    [[nodiscard]] static Schema list(Schema item, std::size_t least, std::size_t most);
    void add(const std::string& key, Schema value, std::string_view meaning, bool required);
    /// Changes an added key.
    void set(const std::string& key, const char* keyword, double value) { keys_["properties"][key][keyword] = value; }
    /// Adds a rule about several keys.
    void condition(Schema schema) { keys_["allOf"].push_back(std::move(schema)); }
    /// Allows `key` only together with `other`.
    void needs(const std::string& key, const std::string& other) { keys_["dependentRequired"][key].push_back(other); }
    /// Forbids the outcomes of this run.
    void rule_out() { ruled_out_ = true; }
    /// Returns this run's outcome, or the first outcome if the decision is open.
    std::size_t decide(Decision decision);

    [[nodiscard]] Schema& defs() const { return defs_; }
    [[nodiscard]] const std::optional<Decision>& open() const { return open_; }
    /// Returns keywords about keys; null if ruled out.
    [[nodiscard]] Schema keys() const { return ruled_out_ ? Schema() : keys_; }

private:
    Schema& defs_;
    Decided decided_;
    Schema keys_ = Schema::object();
    std::optional<Decision> open_;  // the first undecided decision
    bool ruled_out_ = false;
};

/// Returns the schema of an object that `read` reads.
[[nodiscard]] Schema describe(const std::function<void(Reader&)>& read, Schema& defs);

}  // namespace emt
