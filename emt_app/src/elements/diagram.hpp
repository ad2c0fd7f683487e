// Block diagrams: the blocks that an element adds to the network.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/network.hpp"

namespace emt {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// A limit and, for messages, the name of its parameter.
struct Bound {
    Bound(double x, std::string_view parameter = {}) : value(x), name(parameter) {}
    double value;
    std::string_view name;
};

/// A block under construction: functions for the kinds of block, chainable members for the details.
class BlockDraft {
public:
    using Terms = std::vector<std::pair<double, int>>;  // weight and signal

    BlockDraft(Block::Operation operation, const Terms& terms);
    BlockDraft filter(double b0, double b1, double a0, double a1) &&;
    BlockDraft lag(double gain, double t_s) && { return std::move(*this).filter(gain, 0, 1, t_s); }
    BlockDraft integral(double gain) && { return std::move(*this).filter(gain, 0, 0, 1); }
    /// The lead is left out if there is no lag.
    BlockDraft lead_lag(double lead_s, double lag_s) && { return std::move(*this).filter(1, lag_s > 0 ? lead_s : 0, 1, lag_s); }
    BlockDraft washout(double gain, double t_s) && { return std::move(*this).filter(0, gain * t_s, 1, t_s); }
    /// Without windup if a state is the output, otherwise with windup.
    BlockDraft limits(const Bound& low, const Bound& high) && {
        return std::move(*this).bounded(block.closes_loops() ? block.hold : block.clip, low, high);
    }
    BlockDraft windup(const Bound& low, const Bound& high) && { return std::move(*this).bounded(block.clip, low, high); }
    BlockDraft rates(double down, double up) &&;
    BlockDraft constant(double value) &&;
    Block block;

private:
    BlockDraft bounded(Block::Limits& limits, const Bound& low, const Bound& high) &&;
};

class Diagram {
public:
    Diagram(Network& net, std::string element) : net_(net), element_(std::move(element)) {}

    /// Returns the signal `name`; it is a problem of the case if no element makes it.
    [[nodiscard]] int read(const std::string& name) { return net_.signals.read(name, element_); }
    [[nodiscard]] int read_if_made(const std::string& name) { return net_.signals.read_if_made(name); }
    /// Returns a signal that is read before it is made: a loop.
    [[nodiscard]] int inner(const std::string& part) { return read_if_made(element_ + '.' + part); }
    /// Adds a block whose output is "ELEMENT.part"; returns its signal.
    int add(const std::string& part, BlockDraft draft) { return add_as(element_ + '.' + part, std::move(draft)); }
    int add_as(const std::string& name, BlockDraft draft);

private:
    Network& net_;
    std::string element_;
};

[[nodiscard]] BlockDraft sum(const BlockDraft::Terms& terms);
[[nodiscard]] BlockDraft gain(double k, int signal);
[[nodiscard]] BlockDraft product(double k, int a, int b);
[[nodiscard]] BlockDraft quotient(double k, int a, int b);
[[nodiscard]] BlockDraft least(int a, int b);
[[nodiscard]] BlockDraft greatest(int a, int b);
[[nodiscard]] BlockDraft look_up(int signal, std::vector<double> x, std::vector<double> y);
/// Returns a reference: a constant, or the value that the steady state requires.
[[nodiscard]] BlockDraft reference(const std::optional<double>& value);

}  // namespace emt
