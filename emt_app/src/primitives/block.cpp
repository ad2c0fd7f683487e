#include "primitives/block.hpp"

#include <algorithm>
#include <cmath>

namespace emt {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// The part that replaces the sum, or kSum.
BlockPart part_of(Block::Operation operation) {
    switch (operation) {
        case Block::Operation::sum: break;
        case Block::Operation::product: return kProduct;
        case Block::Operation::quotient: return kQuotient;
        case Block::Operation::minimum: return kMinimum;
        case Block::Operation::maximum: return kMaximum;
        case Block::Operation::absolute: return kAbsolute;
        case Block::Operation::root: return kRoot;
        case Block::Operation::table: return kTable;
        case Block::Operation::comparison: return kComparison;
        case Block::Operation::selection: return kSelection;
        case Block::Operation::firing: return kFiring;
    }
    return kSum;
}

/// Returns the value of a missing term that leaves the result unchanged.
double neutral(Block::Operation operation) {
    if (operation == Block::Operation::product) return 1;
    return operation == Block::Operation::minimum ? kNoBound : operation == Block::Operation::maximum ? -kNoBound : 0;
}

}  // namespace

unsigned Block::parts() const {
    const auto part = [](bool needed, BlockPart p) { return needed ? 1U << p : 0U; };
    return part(true, kSum) | part(neutral(operation) != 0, kBias) | part(ramp.amplitude != 0, kRamp) | part(sine.amplitude != 0, kSine) |
           part(true, part_of(operation)) | part(!filter.none(), kFilter) | part(!hold.none(), kHold) |
           part(rate_down != kNoBound || rate_up != kNoBound, kRate) | part(!clip.none(), kClip) | part(predicts, kPrediction);
}

double Block::looked_up(double x) const {
    // Outside the table, the first and last slopes continue.
    std::size_t k = 1;
    while (k + 1 < table_x.size() && x > table_x[k]) ++k;
    return table_y[k - 1] + (table_y[k] - table_y[k - 1]) / (table_x[k] - table_x[k - 1]) * (x - table_x[k - 1]);
}

double Block::Pulses::at_start(double angle, double frequency, double delay) const {
    if (delay <= always) return 0;
    if (delay >= end) return kNotFired;
    const double periods = (angle + phase_turns) / period_turns, p = periods - std::floor(periods);
    return (delay - p + (p < end ? 0 : 1)) * period_turns / (frequency * dt_s);
}

double Block::combined(const std::array<double, kBlockInputs>& u) const {
    std::array<double, kBlockInputs> term{};
    double x = constant;
    for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k) {
        term[k] = weight[k] * u[k];
        x += term[k];
    }
    const auto first = term.begin(), last = first + inputs;
    switch (operation) {
        case Operation::sum: break;
        case Operation::product: x = 1; std::for_each(first, last, [&](double t) { x *= t; }); break;
        case Operation::quotient: x = term[0] / term[1]; break;
        case Operation::minimum: x = *std::min_element(first, last); break;
        case Operation::maximum: x = *std::max_element(first, last); break;
        case Operation::absolute: x = std::fabs(x); break;
        case Operation::root: x = std::sqrt(std::max(x, 0.0)); break;
        case Operation::table: x = looked_up(x); break;
        case Operation::comparison: x = x > on ? 1 : 0; break;
        case Operation::selection: x = term[2] > 0.5 ? term[0] : term[1]; break;
        case Operation::firing: x = pulses.at_start(term[0], term[1], term[2]); break;
    }
    return x;
}

void Block::start(const LaneStart& lane, const BlockRows& rows, int at_slot, const Start& at) const {
    const BlockSlot& slot = rows.slot[at_slot];
    const double k = 2 / lane.dt_s;
    const auto constant_of = [&](BlockPart part, int i, double value) {
        if (slot.has(part)) lane.at(rows.constant, slot.constant[part] + i) = value;
    };
    constant_of(kSum, 0, at.constant);
    for (int i = 0; i < inputs; ++i) constant_of(kSum, 1 + i, weight[static_cast<std::size_t>(i)]);
    for (int i = inputs; i < slot.inputs; ++i) constant_of(kBias, i, neutral(operation));
    if (ramp.amplitude != 0) {
        constant_of(kRamp, 0, ramp.amplitude);
        constant_of(kRamp, 1, ramp.start_s);
        constant_of(kRamp, 2, 1 / ramp.duration_s);
    }
    constant_of(kSine, 0, sine.amplitude);
    constant_of(kSine, 1, sine.frequency_hz);
    constant_of(kSine, 2, sine.phase_turns);
    if (const BlockPart part = part_of(operation); part != kSum) constant_of(part, 0, 1);
    if (operation == Operation::comparison) {
        constant_of(kComparison, 1, on);
        constant_of(kComparison, 2, off);
        lane.at(rows.state, slot.on) = at.x;
    }
    if (operation == Operation::table) {
        const auto slope = [&](std::size_t i) { return (table_y[i] - table_y[i - 1]) / (table_x[i] - table_x[i - 1]); };
        constant_of(kTable, 1, table_y[0] - slope(1) * table_x[0]);
        constant_of(kTable, 2, slope(1));
        for (std::size_t i = 1; i + 1 < table_x.size(); ++i) {
            constant_of(kTable, 1 + 2 * static_cast<int>(i), table_x[i]);
            constant_of(kTable, 2 + 2 * static_cast<int>(i), slope(i + 1) - slope(i));
        }
    }
    if (operation == Operation::firing) {
        constant_of(kFiring, 1, pulses.frequency_hz);
        constant_of(kFiring, 2, pulses.phase_turns);
        constant_of(kFiring, 3, 1 / pulses.period_turns);
        constant_of(kFiring, 4, pulses.always);
        constant_of(kFiring, 5, pulses.end);
        constant_of(kFiring, 6, pulses.period_turns / lane.dt_s);
    }
    if (slot.has(kFilter)) {
        const auto [b0, b1, a0, a1] = filter;
        const double d = a0 + k * a1, g = (b0 + k * b1) / d, p = (b0 - k * b1) / d, q = (k * a1 - a0) / d;
        const bool none = filter.none();
        constant_of(kFilter, 0, none ? 1 : g);
        lane.step(rows.step, slot.filter_step, none ? 0 : p, -k * b1 / d);
        lane.step(rows.step, slot.filter_step + 1, none ? 0 : q, k * a1 / d);
        // In the steady state the history repeats itself; at rest it is consistent with the output.
        lane.at(rows.state, slot.history) = none ? 0 : lane.steady() ? p * at.x + q * at.y : at.y - g * at.x;
    }
    constant_of(kHold, 0, hold.low);
    constant_of(kHold, 1, hold.high);
    constant_of(kClip, 0, clip.low);
    constant_of(kClip, 1, clip.high);
    if (slot.has(kRate)) {
        lane.step(rows.step, slot.rate_step, rate_down * lane.dt_s, rate_down * lane.dt_s / 2);
        lane.step(rows.step, slot.rate_step + 1, rate_up * lane.dt_s, rate_up * lane.dt_s / 2);
        lane.at(rows.state, slot.rate) = at.y - rate_down * lane.dt_s;
        lane.at(rows.state, slot.rate + 1) = at.y + rate_up * lane.dt_s;
    }
    if (slot.has(kPrediction)) lane.at(rows.state, slot.prediction) = clip.of(hold.of(at.y));
}

}  // namespace emt
