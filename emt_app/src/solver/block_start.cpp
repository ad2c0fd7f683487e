#include "solver/block_start.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace emt {
namespace {

constexpr double kSameValue = 1e-9;  // relative: what is computed in two ways differs by rounding

std::string number_text(double x) {
    char out[32];
    std::snprintf(out, sizeof out, "%.9g", x);
    return out;
}

[[noreturn]] void cannot_start(const Block& block, const std::string& why) {
    throw NoStart("block '" + block.name + "' cannot start in the steady state: " + why);
}

class Steady {
public:
    Steady(const std::vector<Block>& blocks, const SignalStart& signals) : blocks_(blocks), value_(signals.published), at_(blocks.size()), done_(blocks.size()) {
        for (std::size_t s = 0; s < value_.size(); ++s) {
            if (!signals.required[s]) continue;
            if (value_[s] && !same(*value_[s], *signals.required[s]))
                throw NoStart("an element measures " + number_text(*value_[s]) + " where another needs " + number_text(*signals.required[s]) + " in the steady state");
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

    static bool same(double a, double b) { return std::fabs(a - b) <= kSameValue * std::max({1.0, std::fabs(a), std::fabs(b)}); }
    std::optional<double>& at(int signal) { return value_[static_cast<std::size_t>(signal)]; }
    std::optional<double>& output(const Block& b) { return at(b.publishes[0]); }
    static double limited(const Block& b, double y) { return b.clip.of(b.hold.of(y)); }

    /// Values of the inputs, and the signals among them that are not known yet, each once.
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
    /// Whether something has come out.
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
        const std::optional<double> found = invert(b, u, unknown.front(), x);
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
            if (!held && std::fabs(x) > kSameValue * size_of_terms(b, u)) cannot_start(b, "its input is " + number_text(x) + ", not zero, and it goes on integrating");
        } else {
            const double given = limited(b, b.filter.b0 / b.filter.a0 * x);
            if (y && !same(*y, given)) cannot_start(b, "it gives " + number_text(given) + " where " + number_text(*y) + " is needed");
            if (!y) y = given;
        }
        at_[number] = {x, b.filter.integrates() || b.open ? *y : b.hold.of(b.filter.b0 / b.filter.a0 * x), constant};
        done_[number] = true;
        return true;
    }
    /// Whether the output is zero whatever the inputs are: of a washout, of a product with a factor that is.
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
        if (!same(y, limited(b, y)))
            cannot_start(b, number_text(y) + " is needed, but it is limited to " + number_text(std::max(b.hold.low, b.clip.low)) + " … " + number_text(std::min(b.hold.high, b.clip.high)));
    }
    /// What an unknown signal has to be, so that the inputs combine to x; nothing where that is not decided.
    std::optional<double> invert(const Block& b, const Values& u, int unknown, double x) {
        double sum = b.constant, product = 1, weight = 0, weights = 1;  // of the known terms; of the unknown one
        int times = 0, position = 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) {
            const double term = b.weight[k] * u[k];
            if (b.reads[k] == unknown) {
                weight += b.weight[k];
                weights *= b.weight[k];
                position = static_cast<int>(k);
                ++times;
            } else {
                sum += term;
                product *= term;
            }
        }
        const auto from_sum = [&](double wanted) -> std::optional<double> {
            if (weight == 0) return std::nullopt;
            return (wanted - sum) / weight;
        };
        switch (b.operation) {
            case Block::Operation::sum: return from_sum(x);
            case Block::Operation::absolute: return from_sum(x);
            case Block::Operation::root: return from_sum(x * x);
            case Block::Operation::product: {
                if (product * weights == 0 || times > 2) return std::nullopt;
                const double rest = x / (product * weights);
                if (times == 1) return rest;
                if (rest < 0) cannot_start(b, "a square would have to be " + number_text(rest));
                return std::sqrt(rest);
            }
            case Block::Operation::quotient: {
                if (times != 1) return std::nullopt;
                if (position == 0) return x * product / weight;
                if (x == 0) return std::nullopt;
                return product / (x * weight);
            }
            case Block::Operation::minimum:
            case Block::Operation::maximum: return from_gate(b, u, unknown, x, weight, times);
            case Block::Operation::selection:
                if (times != 1 || position == 2 || (u[2] * b.weight[2] > 0.5) != (position == 0) || weight == 0) return std::nullopt;
                return x / weight;
            case Block::Operation::table: {
                const std::optional<double> place = place_in_table(b, x);
                return place ? from_sum(*place) : std::nullopt;
            }
            case Block::Operation::comparison: return std::nullopt;
        }
        return std::nullopt;
    }
    /// The other inputs of a gate must let x through; those that are equal to it leave the unknown one undecided.
    std::optional<double> from_gate(const Block& b, const Values& u, int unknown, double x, double weight, int times) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) {
            if (b.reads[k] == unknown) continue;
            const double other = b.weight[k] * u[k], past = b.operation == Block::Operation::minimum ? x - other : other - x;
            if (past > kSameValue * std::max(1.0, std::fabs(x))) cannot_start(b, number_text(x) + " is needed, but another input limits it to " + number_text(other));
        }
        if (times != 1 || weight == 0) return std::nullopt;
        return x / weight;
    }
    static std::optional<double> place_in_table(const Block& b, double y) {
        const std::vector<double>&tx = b.table_x, &ty = b.table_y;
        for (std::size_t k = 1; k < tx.size(); ++k) {
            const double slope = (ty[k] - ty[k - 1]) / (tx[k] - tx[k - 1]);
            if (slope == 0) continue;
            const double x = tx[k - 1] + (y - ty[k - 1]) / slope;
            if ((k == 1 || x >= tx[k - 1]) && (k + 1 == tx.size() || x <= tx[k])) return x;
        }
        return std::nullopt;
    }

    /// Integrators whose output nothing decides begin at zero.
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

    /// What is left: as many equations as signals, by Newton's method with differences for the derivatives.
    void solve_loops() {
        std::vector<std::size_t> left;
        std::vector<int> unknown;
        std::string names;
        for (std::size_t n = 0; n < blocks_.size(); ++n) {
            if (done_[n]) continue;
            inputs(blocks_[n], unknown);
            if (!output(blocks_[n]) && std::find(unknown.begin(), unknown.end(), blocks_[n].publishes[0]) == unknown.end())
                unknown.push_back(blocks_[n].publishes[0]);
            if (!blocks_[n].open && !gives_nothing(blocks_[n])) left.push_back(n);
            names += (names.empty() ? "'" : ", '") + blocks_[n].name + "'";
        }
        const auto undecided = [&] { return NoStart("the steady state of the blocks " + names + " is not decided: give references a value, integrators an initial one"); };
        if (left.size() != unknown.size()) throw undecided();
        std::vector<double> x(unknown.size(), 1.0);
        double last = std::numeric_limits<double>::infinity();
        for (int round = 0; round < 50; ++round) {
            const std::vector<double> f = residuals(left, unknown, x);
            std::vector<std::vector<double>> m(x.size(), std::vector<double>(x.size() + 1));
            for (std::size_t c = 0; c < x.size(); ++c) {
                std::vector<double> moved = x;
                const double d = 1e-6 * std::max(1.0, std::fabs(x[c]));
                moved[c] += d;
                const std::vector<double> g = residuals(left, unknown, moved);
                for (std::size_t r = 0; r < x.size(); ++r) m[r][c] = (g[r] - f[r]) / d;
            }
            for (std::size_t r = 0; r < x.size(); ++r) m[r].back() = -f[r];
            if (!eliminate(m)) throw undecided();
            double change = 0;
            for (std::size_t r = 0; r < x.size(); ++r) {
                x[r] += m[r].back();
                change = std::max(change, std::fabs(m[r].back()) / std::max(1.0, std::fabs(x[r])));
            }
            // Differences converge to rounding, wherever that is.
            if (const bool settled = change <= 1e-14 || (change < 1e-9 && change >= last); !settled) {
                last = change;
                continue;
            }
            for (std::size_t r = 0; r < x.size(); ++r) at(unknown[r]) = x[r];
            for (const std::size_t n : left) check_limits(blocks_[n]);
            return;
        }
        throw undecided();
    }
    /// By how much each block misses its steady state, limits apart.
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
    /// Gauss–Jordan with the largest pivots; the last column becomes the solution. False when singular.
    static bool eliminate(std::vector<std::vector<double>>& m) {
        for (std::size_t k = 0; k < m.size(); ++k) {
            std::size_t best = k;
            for (std::size_t r = k; r < m.size(); ++r)
                if (std::fabs(m[r][k]) > std::fabs(m[best][k])) best = r;
            if (!(std::fabs(m[best][k]) > 1e-12)) return false;
            std::swap(m[k], m[best]);
            for (std::size_t r = 0; r < m.size(); ++r) {
                if (r == k) continue;
                const double f = m[r][k] / m[k][k];
                for (std::size_t c = k; c <= m.size(); ++c) m[r][c] -= f * m[k][c];
            }
        }
        for (std::size_t k = 0; k < m.size(); ++k) m[k].back() /= m[k][k];
        return true;
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
        const double y = b.filter.none() ? x : b.initial.value_or(0) + (b.filter.a1 == 0 ? b.filter.b0 / b.filter.a0 : b.filter.b1 / b.filter.a1) * x;
        value[static_cast<std::size_t>(b.publishes[0])] = b.clip.of(b.hold.of(y));
        out.push_back({x, y, b.constant});
    }
    return out;
}

std::vector<Block::Start> start_steady(const std::vector<Block>& blocks, const SignalStart& signals) { return Steady(blocks, signals).run(); }

}  // namespace emt
