// JSON Schema of the keys that a reading asks for: the calls of a Reader are the one declaration of them.
//
// Which keys are asked for may depend on three decisions: whether a key is there (Reader::has), the value of a choice, and the start
// of the case (Reader::steady_start). The reading runs over an empty object, once for every outcome of the decisions that it meets;
// joining the runs gives the schema.
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

/// A kind of value: its JSON Schema, and its name among the "$defs" if keys are to refer to it there.
struct Kind {
    const char* schema;
    const char* name = nullptr;
};

struct Decision {
    enum class By { presence, choice, start };
    By by;
    std::string key;                       // empty: the start
    std::vector<std::string> outcomes;     // of a choice its values; a key is first given, then not
    std::string meaning{}, otherwise{};    // of a choice; `otherwise` is empty where the key is required
};

/// One run of a reading.
class Description {
public:
    using Decided = std::map<std::string, std::size_t>;  // outcome by key

    /// `defs` takes the kinds of values that have a name.
    Description(Schema& defs, Decided decided) : defs_(defs), decided_(std::move(decided)) {}

    /// The schema of a value of the kind.
    Schema of(const Kind& kind);
    [[nodiscard]] static Schema list(Schema item, std::size_t least, std::size_t most);
    void add(const std::string& key, Schema value, std::string_view meaning, bool required);
    /// More of a key that has been added.
    void set(const std::string& key, const char* keyword, double value) { keys_["properties"][key][keyword] = value; }
    /// A condition of more than one key, or of a value beside its kind.
    void condition(Schema schema) { keys_["allOf"].push_back(std::move(schema)); }
    /// `key` has a meaning only beside `other`.
    void needs(const std::string& key, const std::string& other) { keys_["dependentRequired"][key] = Schema::array({other}); }
    /// Nothing may be read in the way of this run.
    void rule_out() { ruled_out_ = true; }
    /// The outcome: in the way of this run, or the first of a decision that is still open.
    std::size_t decide(Decision decision);

    [[nodiscard]] Schema& defs() const { return defs_; }
    [[nodiscard]] const std::optional<Decision>& open() const { return open_; }
    /// Of the keys; null when ruled out.
    [[nodiscard]] Schema keys() const { return ruled_out_ ? Schema() : keys_; }

private:
    Schema& defs_;
    Decided decided_;
    Schema keys_ = Schema::object();
    std::optional<Decision> open_;  // the first that is not decided
    bool ruled_out_ = false;
};

/// The schema of an object that `read` reads.
[[nodiscard]] Schema describe(const std::function<void(Reader&)>& read, Schema& defs);

}  // namespace emt
