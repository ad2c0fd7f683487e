#include "solver/block_start.hpp"

#include <algorithm>
#include <cmath>

#include "solver/newton.hpp"

namespace emt {
namespace {

class Steady {
public:
    Steady(const std::vector<Block>& blocks, const SignalStart& signals)
        : blocks_(blocks), value_(signals.published), at_(blocks.size()), done_(blocks.size()) {
        for (std::size_t s = 0; s < value_.size(); ++s) {
            if (!signals.required[s]) continue;
            if (value_[s] && !same_value(*value_[s], *signals.required[s]))
                throw NoStart("an element measures " + number_text(*value_[s]) + " where another needs " + number_text(*signals.required[s]) +
                              " in the steady state");
            value_[s] = signals.required[s];
        }
        for (const Block& b : blocks_)
            if (b.initial && !output(b)) output(b) = b.initial;
    }
    std::vector<Block::Start> run() {
        for (;;) {
            propagate();
            if (std::find(done_.begin(), done_.end(), false) == done_.end()) return at_;
            if (!rest_integrators()) solve_loops();
        }
    }

private:
    using Values = std::array<double, kBlockInputs>;

    std::optional<double>& at(int signal) { return value_[static_cast<std::size_t>(signal)]; }
    std::optional<double>& output(const Block& b) { return at(b.publishes[0]); }
    static double limited(const Block& b, double y) { return b.clip.of(b.hold.of(y)); }

    /// Returns the values of the inputs; adds each unknown signal among them once.
    Values inputs(const Block& b, std::vector<int>& unknown) {
        Values u{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) {
            const int s = b.reads[k];
            if (s == kNoSignal) continue;
            if (at(s))
                u[k] = *at(s);
            else if (std::find(unknown.begin(), unknown.end(), s) == unknown.end())
                unknown.push_back(s);
        }
        return u;
    }
    static double size_of_terms(const Block& b, const Values& u) {
        double size = std::fabs(b.constant);
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) size += std::fabs(b.weight[k] * u[k]);
        return std::max(size, 1.0);
    }

    void propagate() {
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t b = 0; b < blocks_.size(); ++b)
                if (!done_[b] && visit(b)) changed = true;
        }
    }
    /// Returns true if a signal became known.
    bool visit(std::size_t number) {
        const Block& b = blocks_[number];
        std::vector<int> unknown;
        const Values u = inputs(b, unknown);
        if (unknown.empty()) return forward(number, u);
        if (!output(b) && gives_nothing(b)) {
            output(b) = limited(b, 0);
            return true;
        }
        if (!output(b) || unknown.size() > 1 || b.filter.b0 == 0) return false;
        check_limits(b);
        const double x = b.filter.a0 * *output(b) / b.filter.b0;
        const std::optional<double> found = inverted(b, u, unknown.front(), x);
        if (found) at(unknown.front()) = found;
        return found.has_value();
    }
    bool forward(std::size_t number, const Values& u) {
        const Block& b = blocks_[number];
        double constant = b.constant, x = b.combined(u);
        std::optional<double>& y = output(b);
        if (b.open) {
            if (!y) return false;
            constant = x = *y;
        } else if (b.filter.integrates()) {
            if (!y) return false;
            const bool held = (x > 0 && *y >= b.hold.high) || (x < 0 && *y <= b.hold.low);
            if (!held && !same_value(x / size_of_terms(b, u), 0))
                throw NoStart(b, "its input is " + number_text(x) + ", not zero: it goes on integrating");
        } else {
            const double given = limited(b, b.filter.b0 / b.filter.a0 * x);
            if (y && !same_value(*y, given)) throw NoStart(b, "it gives " + number_text(given) + " where " + number_text(*y) + " is needed");
            if (!y) y = given;
        }
        at_[number] = {x, b.filter.integrates() || b.open ? *y : b.hold.of(b.filter.b0 / b.filter.a0 * x), constant};
        done_[number] = true;
        return true;
    }
    /// Returns true if the output is zero for any inputs: a washout, or a product with a factor of zero.
    bool gives_nothing(const Block& b) {
        if (b.filter.integrates()) return false;
        if (b.filter.b0 == 0) return true;
        if (b.operation != Block::Operation::product) return false;
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k)
            if (b.weight[k] == 0 || (b.reads[k] != kNoSignal && at(b.reads[k]) && *at(b.reads[k]) == 0)) return true;
        return false;
    }
    void check_limits(const Block& b) {
        const double y = *output(b);
        if (!same_value(y, limited(b, y)))
            throw NoStart(b, number_text(y) + " is needed, but it is limited to " + number_text(std::max(b.hold.low, b.clip.low)) + " … " +
                                 number_text(std::min(b.hold.high, b.clip.high)) + (b.bounds.empty() ? "" : " by " + b.bounds));
    }
    /// Starts integrators with an undetermined output at zero.
    bool rest_integrators() {
        bool any = false;
        for (std::size_t n = 0; n < blocks_.size(); ++n) {
            std::vector<int> unknown;
            if (done_[n] || !blocks_[n].filter.integrates() || output(blocks_[n])) continue;
            inputs(blocks_[n], unknown);
            if (!unknown.empty()) continue;
            output(blocks_[n]) = blocks_[n].hold.of(0);
            any = true;
        }
        return any;
    }

    /// Returns the remaining blocks without those that only follow from them, since these may be at a limit.
    std::vector<std::size_t> in_loops() {
        std::vector<std::size_t> left;
        for (std::size_t n = 0; n < blocks_.size(); ++n)
            if (!done_[n]) left.push_back(n);
        const auto follows = [&](std::size_t n) {
            const int made = blocks_[n].publishes[0];
            return !blocks_[n].open && !at(made) && std::none_of(left.begin(), left.end(), [&](std::size_t other) {
                const auto& reads = blocks_[other].reads;
                return std::find(reads.begin(), reads.end(), made) != reads.end();
            });
        };
        for (auto it = left.end(); (it = std::find_if(left.begin(), left.end(), follows)) != left.end();) left.erase(it);
        return left;
    }
    /// Solves the loops, with as many equations as signals, by Newton's method with numerical derivatives.
    void solve_loops() {
        std::vector<std::size_t> left;
        std::vector<int> unknown;
        std::string names;
        for (const std::size_t n : in_loops()) {
            inputs(blocks_[n], unknown);
            if (!output(blocks_[n]) && std::find(unknown.begin(), unknown.end(), blocks_[n].publishes[0]) == unknown.end())
                unknown.push_back(blocks_[n].publishes[0]);
            if (!blocks_[n].open && !gives_nothing(blocks_[n])) left.push_back(n);
        }
        for (std::size_t n = 0; n < blocks_.size(); ++n)
            if (!done_[n]) names += (names.empty() ? "'" : ", '") + blocks_[n].name + "'";
        const auto undecided = [&] {
            return NoStart("the steady state of the blocks " + names + " is not decided: give references a value, integrators an initial one");
        };
        if (left.empty() || left.size() != unknown.size()) throw undecided();
        std::vector<double> x(unknown.size(), 1.0);
        if (!solve_by_newton(x, [&](const std::vector<double>& values) { return residuals(left, unknown, values); })) throw undecided();
        for (std::size_t r = 0; r < x.size(); ++r) at(unknown[r]) = x[r];
        for (const std::size_t n : left) check_limits(blocks_[n]);
    }
    /// Returns each block's deviation from its steady state, without limits.
    std::vector<double> residuals(const std::vector<std::size_t>& left, const std::vector<int>& unknown, const std::vector<double>& x) {
        for (std::size_t r = 0; r < x.size(); ++r) at(unknown[r]) = x[r];
        std::vector<double> out;
        for (const std::size_t n : left) {
            const Block& b = blocks_[n];
            std::vector<int> none;
            const double in = b.combined(inputs(b, none));
            out.push_back(b.filter.integrates() ? in : *output(b) - b.filter.b0 / b.filter.a0 * in);
        }
        for (const int s : unknown) at(s).reset();
        return out;
    }

    const std::vector<Block>& blocks_;
    std::vector<std::optional<double>> value_;
    std::vector<Block::Start> at_;
    std::vector<bool> done_;
};

}  // namespace

std::vector<Block::Start> start_at_rest(const std::vector<Block>& blocks, const SignalStart& signals) {
    std::vector<std::optional<double>> value = signals.published;
    for (const Block& b : blocks)
        if (b.closes_loops()) value[static_cast<std::size_t>(b.publishes[0])] = b.initial.value_or(0);
    std::vector<Block::Start> out;
    for (const Block& b : blocks) {
        std::array<double, kBlockInputs> u{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k)
            if (b.reads[k] != kNoSignal) u[k] = value[static_cast<std::size_t>(b.reads[k])].value_or(0);
        const double x = b.combined(u) + b.sine.amplitude * cos_sin(b.sine.phase_turns).cos;
        // The direct part of a filter's answer.
        const double direct = b.filter.a1 == 0 ? b.filter.b0 / b.filter.a0 : b.filter.b1 / b.filter.a1;
        const double y = b.filter.none() ? x : b.initial.value_or(0) + direct * x;
        value[static_cast<std::size_t>(b.publishes[0])] = b.clip.of(b.hold.of(y));
        out.push_back({x, y, b.constant});
    }
    return out;
}

std::vector<Block::Start> start_steady(const std::vector<Block>& blocks, const SignalStart& signals) { return Steady(blocks, signals).run(); }

}  // namespace emt
