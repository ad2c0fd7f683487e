// Typed access to one element's JSON object. Every failure names the element, the key and the expected value.
//
// The calls declare the keys: a Reader with a Description records them there, and returns the values for missing keys.
// `meaning` describes the key, with its unit; it may be empty.
#pragma once
#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.hpp"
#include "elements/description.hpp"
#include "network/network.hpp"

namespace emt {

/// Collects problems of one element.
class Reporter {
public:
    Reporter(Diagnostics& out, std::string where) : out_(out), where_(std::move(where)) {}
    void operator()(std::string rule, std::string message) {
        out_.add(where_, std::move(rule), std::move(message));
        failed_ = true;
    }
    [[nodiscard]] bool failed() const { return failed_; }
    /// Returns a reporter for a part of the element; join() takes over its failure.
    [[nodiscard]] Reporter of(const std::string& part) const { return {out_, where_ + " " + part}; }
    void join(const Reporter& part) { failed_ = failed_ || part.failed_; }

private:
    Diagnostics& out_;
    std::string where_;
    bool failed_ = false;
};

/// Node numbers by name; a bus "B" stands for the nodes "B.a", "B.b", "B.c".
struct NodeTable {
    std::unordered_map<std::string, int> node;
    std::unordered_map<std::string, std::array<int, 3>> bus;
};

/// The size of a source over time, and the signal that multiplies it, or an empty name.
struct SourceWave {
    Waveform wave;
    std::string signal;

    [[nodiscard]] bool driven() const { return !signal.empty(); }
    /// Returns the waveform of a source without a signal; none with one.
    [[nodiscard]] Waveform alone() const { return driven() ? Waveform{} : wave; }
};

enum class Range { any, positive, not_negative };

class Reader {
public:
    Reader(const nlohmann::json& object, const NodeTable& nodes, const Network& net, Reporter& report, Description* description = nullptr)
        : object_(object), nodes_(nodes), net_(net), report_(report), description_(description) {}

    // Decisions, besides choice(): nothing else may change the set of keys.

    [[nodiscard]] bool has(const std::string& key) const;
    [[nodiscard]] bool steady_start() const;

    // Values of one key.

    double number(const std::string& key, Range range, std::string_view meaning);
    double number(const std::string& key, Range range, std::string_view meaning, double otherwise);
    /// Reads an optional key without a default number.
    std::optional<double> optional(const std::string& key, Range range, std::string_view meaning);
    /// Reads a value at t = 0 (default 0), which only a start from zero uses.
    double initial(const std::string& key, std::string_view meaning);
    /// Reads the same for each of `count` phases: one number for all, or a list.
    std::vector<double> initial(const std::string& key, std::string_view meaning, std::size_t count);
    /// Reads a number that a start from zero needs; a steady start computes it and refuses the key.
    std::optional<double> found_by_steady_start(const std::string& key, Range range, std::string_view meaning);
    /// Reads a flag; false by default.
    bool flag(const std::string& key, std::string_view meaning);
    std::string choice(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning = {});
    /// Reads a choice; the first one by default.
    std::string optional_choice(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning);
    std::string name();
    int node(const std::string& key, std::string_view meaning = {});
    /// Reads a node; ground by default.
    int optional_node(const std::string& key, std::string_view meaning = {});
    Nodes3 bus(const std::string& key, std::string_view meaning = {});
    /// Reads a bus, ground, or a node as common point.
    Nodes3 bus_or_ground(const std::string& key, std::string_view meaning = {});
    Mat3 matrix(const std::string& key, std::string_view meaning);
    /// Reads ascending points [[x, i], …] of an odd characteristic; (0,0) is implied.
    void curve(const std::string& key, std::string_view meaning, std::vector<double>& x, std::vector<double>& i);
    std::vector<std::pair<double, bool>> operations(const std::string& key);
    /// Reads the name of a signal; Network::signals gives its number when the element is lowered.
    std::string signal(const std::string& key, std::string_view meaning = {});
    /// Reads the name of a signal; empty by default.
    std::string optional_signal(const std::string& key, std::string_view meaning = {});
    std::vector<std::string> signals(const std::string& key, std::string_view meaning, std::size_t least, std::size_t most);
    /// Reads a number for each of `count` signals, or none if the key is missing.
    std::vector<double> weights(const std::string& key, std::string_view meaning, std::size_t count);
    /// Reads up to `most` numbers greater than zero; none if the key is missing.
    std::vector<double> some_positive(const std::string& key, std::string_view meaning, std::size_t most);
    /// Reads at least two points [[x, y], …], strictly ascending in x.
    void table(const std::string& key, std::vector<double>& x, std::vector<double>& y);
    /// Reads each of `least` to `most` objects of a list, such as "masses"; the element's own Reader knows only the
    /// list's key. Reports entries that are no objects, and unknown keys.
    void each(const std::string& key, const std::string& what, std::size_t least, std::size_t most, std::string_view meaning,
              const std::function<void(Reader&)>& read);

    // Several keys.

    /// Reads the terminals of a one-phase element ("nodes": [p, q]) or of three equal ones ("buses": [P, Q]).
    std::vector<Nodes2> terminals();
    /// Reads the terminals of an element that has one phase only.
    Nodes2 one_phase_terminals();
    /// Reads the keys of a source: shape, amplitude, frequency, phase, start, tau_front, tau_tail; or signal, shape, amplitude, phase.
    /// With a steady start, a source without a signal that is on from the beginning must be a sine at the case's frequency.
    SourceWave source_wave();

    // Rules beyond the type of one value: checked here, and part of the schema.

    /// Requires both keys or neither.
    void together(const std::string& one, const std::string& other, const std::string& message);
    /// Requires `other` if `key` is given.
    void needs(const std::string& key, const std::string& other, const std::string& message);
    /// Requires at least one of the keys; if the range is positive, one that is not zero.
    void at_least_one(std::initializer_list<const char*> keys, Range range, const std::string& rule, const std::string& message);
    /// Requires that the key's value is above the limit.
    void above(const std::string& key, double value, double limit, const std::string& message);
    /// Refuses these keys, which contradict others; the message gives the reason.
    void refuse(std::initializer_list<const char*> keys, const std::string& message);
    /// Rules out the last decision's outcome for this element.
    void rule_out(const std::string& rule, const std::string& message);

    /// Reports a declared node of this name, since the element itself makes the node.
    void makes_node(const std::string& name);
    /// Reports keys that no call has read.
    void finish();

    [[nodiscard]] Reporter& report() { return report_; }
    [[nodiscard]] double dt_s() const { return net_.dt_s; }
    [[nodiscard]] double frequency_hz() const { return net_.frequency_hz; }

private:
    const nlohmann::json* find(const std::string& key);
    /// Does the same, and records the key.
    const nlohmann::json* find(const std::string& key, const ValueKind& kind, std::string_view meaning, bool required);
    Waveform waveform();
    double checked(const std::string& key, const nlohmann::json& value, Range range);
    std::string picked(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning, const std::string& otherwise);
    std::string signal_name(const std::string& key, const nlohmann::json& value);
    std::vector<double> numbers(const std::string& key, const nlohmann::json& value, std::size_t count);
    void refuse_at_steady_start(const std::string& key);
    int lookup(const std::string& key, const nlohmann::json& value);
    Nodes3 found_bus(const std::string& key, const nlohmann::json* value, bool ground_allowed);
    Nodes3 lookup_bus(const std::string& key, const nlohmann::json& value, bool ground_allowed);

    const nlohmann::json& object_;
    const NodeTable& nodes_;
    const Network& net_;
    Reporter& report_;
    Description* description_;
    std::set<std::string> used_{"type", "name"};
};

}  // namespace emt
