// Typed access to one element's JSON object. Every failure names the element, the key and what was expected.
#pragma once
#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.hpp"
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
    /// Of a part of the element, whose failure join() makes its own.
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

class Reader {
public:
    enum class Range { any, positive, not_negative };

    Reader(const nlohmann::json& object, const NodeTable& nodes, const Network& net, Reporter& report)
        : object_(object), nodes_(nodes), net_(net), report_(report) {}

    [[nodiscard]] bool has(const std::string& key) const { return object_.contains(key); }
    double number(const std::string& key, Range range);
    double number(const std::string& key, Range range, double otherwise);
    /// A value at t = 0 (otherwise 0), which only a start from zero has use for.
    double initial(const std::string& key);
    /// The same for each of `count` phases: one number for all, or a list.
    std::vector<double> initial(const std::string& key, std::size_t count);
    bool flag(const std::string& key, bool otherwise);
    std::string choice(const std::string& key, const std::vector<std::string>& allowed, const std::string& otherwise);
    std::string name();
    int node(const std::string& key);
    Nodes3 bus(const std::string& key, bool ground_allowed);
    /// Terminals of a one-phase element ("nodes": [p, q]) or of three equal ones ("buses": [P, Q]).
    std::vector<Nodes2> terminals();
    Mat3 matrix(const std::string& key);
    /// Ascending points [[x, i], …] of an odd characteristic; (0,0) is implied.
    void curve(const std::string& key, std::vector<double>& x, std::vector<double>& i);
    std::vector<std::pair<double, bool>> operations(const std::string& key);
    /// The name of a signal; a number of it is had from Network::signals when the element is lowered.
    std::string signal(const std::string& key);
    /// Reads each object of a list, of which the element's own Reader knows only the key; reports what is no object, and keys
    /// that nothing has asked for.
    void each(const std::string& key, const std::function<void(Reader&)>& read);
    std::vector<std::string> signals(const std::string& key, std::size_t least, std::size_t most);
    /// As many numbers as asked for, or none when the key is missing.
    std::vector<double> numbers(const std::string& key, std::size_t count);
    /// Up to `most` numbers greater than zero; none when the key is missing.
    std::vector<double> some_positive(const std::string& key, std::size_t most);
    /// At least two points [[x, y], …], strictly ascending in x.
    void table(const std::string& key, std::vector<double>& x, std::vector<double>& y);
    /// Waveform keys shape, amplitude, frequency, phase, start, tau_front, tau_tail of this object; with a steady start,
    /// a source that is on from the beginning must be a sine at the case's frequency.
    Waveform waveform();
    /// Reports that a node of this name is declared, which the element makes itself.
    void makes_node(const std::string& name);
    /// Reports keys that nothing has asked for.
    void finish();

    [[nodiscard]] Reporter& report() { return report_; }
    [[nodiscard]] double dt_s() const { return net_.dt_s; }
    [[nodiscard]] double frequency_hz() const { return net_.frequency_hz; }
    [[nodiscard]] bool steady_start() const { return net_.steady_start; }

private:
    const nlohmann::json* find(const std::string& key);
    int lookup(const std::string& key, const nlohmann::json& value);
    Nodes3 lookup_bus(const std::string& key, const nlohmann::json& value, bool ground_allowed);

    const nlohmann::json& object_;
    const NodeTable& nodes_;
    const Network& net_;
    Reporter& report_;
    std::set<std::string> used_{"type", "name"};
};

}  // namespace emt
