#include "solver/block_inverse.hpp"

#include <cstdio>

namespace emt {
namespace {

using Inputs = std::array<double, kBlockInputs>;

/// The terms of a block, divided by whether they contain the unknown signal.
struct Terms {
    double sum, product = 1;            // over the known terms
    double weight = 0, weights = 1;     // sum and product of the weights of the unknown terms
    int times = 0, position = 0;        // their number, and the place of the last one
    Terms(const Block& b, const Inputs& u, int unknown) : sum(b.constant) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) {
            if (b.reads[k] == unknown) {
                weight += b.weight[k];
                weights *= b.weight[k];
                position = static_cast<int>(k);
                ++times;
            } else {
                sum += b.weight[k] * u[k];
                product *= b.weight[k] * u[k];
            }
        }
    }
    [[nodiscard]] std::optional<double> alone(double x) const { return times == 1 && weight != 0 ? std::optional(x / weight) : std::nullopt; }
    [[nodiscard]] std::optional<double> in_sum(double x) const { return weight != 0 ? std::optional((x - sum) / weight) : std::nullopt; }
};

std::optional<double> factor(const Block& b, const Terms& t, double x) {
    if (t.product * t.weights == 0 || t.times > 2) return std::nullopt;
    const double rest = x / (t.product * t.weights);
    if (t.times == 1) return rest;
    if (rest < 0) throw NoStart(b, "a square would have to be " + number_text(rest));
    return std::sqrt(rest);
}

std::optional<double> of_quotient(const Terms& t, double x) {
    if (t.times != 1 || t.weight == 0 || (t.position == 1 && x == 0)) return std::nullopt;
    return t.position == 0 ? x * t.product / t.weight : t.product / (x * t.weight);
}

/// Returns the unknown input of a minimum or maximum whose value is x. Throws if another input prevents this value. If
/// another input equals x, the unknown is undetermined, and it also gets x.
std::optional<double> through_gate(const Block& b, const Inputs& u, const Terms& t, int unknown, double x) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(b.inputs); ++k) {
        if (b.reads[k] == unknown) continue;
        const double other = b.weight[k] * u[k];
        const bool in_the_way = b.operation == Block::Operation::minimum ? x > other : x < other;
        if (in_the_way && !same_value(x, other)) throw NoStart(b, number_text(x) + " is needed, but another input limits it to " + number_text(other));
    }
    return t.alone(x);
}

/// Returns the first place in a table with this value.
std::optional<double> place_in_table(const Block& b, double y) {
    const std::vector<double>&tx = b.table_x, &ty = b.table_y;
    for (std::size_t k = 1; k < tx.size(); ++k) {
        const double slope = (ty[k] - ty[k - 1]) / (tx[k] - tx[k - 1]);
        if (slope == 0) continue;
        const double x = tx[k - 1] + (y - ty[k - 1]) / slope;
        if ((k == 1 || x >= tx[k - 1]) && (k + 1 == tx.size() || x <= tx[k])) return x;
    }
    return std::nullopt;
}

}  // namespace

std::string number_text(double x) {
    char out[32];
    std::snprintf(out, sizeof out, "%.9g", x);
    return out;
}

std::optional<double> inverted(const Block& b, const Inputs& u, int unknown, double x) {
    const Terms t(b, u, unknown);
    switch (b.operation) {
        case Block::Operation::sum:
        case Block::Operation::absolute: return t.in_sum(x);
        case Block::Operation::root: return t.in_sum(x * x);
        case Block::Operation::product: return factor(b, t, x);
        case Block::Operation::quotient: return of_quotient(t, x);
        case Block::Operation::minimum:
        case Block::Operation::maximum: return through_gate(b, u, t, unknown, x);
        case Block::Operation::table: {
            const std::optional<double> place = place_in_table(b, x);
            return place ? t.in_sum(*place) : std::nullopt;
        }
        case Block::Operation::selection: {
            const bool selected = t.position != 2 && (b.weight[2] * u[2] > 0.5) == (t.position == 0);
            return selected ? t.alone(x) : std::nullopt;
        }
        case Block::Operation::comparison:
        case Block::Operation::firing: break;
    }
    return std::nullopt;
}

}  // namespace emt
