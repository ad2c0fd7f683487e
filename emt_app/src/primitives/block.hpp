// Control block: an operation on up to four signals, a first-order filter, limits. One value per step, at t_n.
//
// All kinds of block have one form: coefficients are neutral for parts that a kind does not need, and parts that no
// lane of a slot needs are left out. So different kinds share a slot without branches, and a simple block stays cheap.
#pragma once
#include "primitives/primitive.hpp"
#ifdef EMT_KERNEL
#include "base/elementary.hpp"
#else
#include <limits>
#include <string>
#include <vector>
#endif

namespace emt {

inline constexpr int kBlockInputs = 4;
/// The signal, in steps, of a gate that is off in the coming step.
inline constexpr double kNotFired = 2;

/// Parts of a slot beyond the weighted sum, in this order. Parts after kBias up to kFiring replace the sum in lanes
/// whose mask, the first row, is not zero.
enum BlockPart { kSum, kBias, kRamp, kSine, kProduct, kQuotient, kMinimum, kMaximum, kAbsolute, kRoot, kTable, kComparison, kSelection,
                 kFiring, kFilter, kHold, kRate, kClip, kPrediction, kBlockParts };

/// One slot: the parts that its lanes need together, and the first rows of each part.
struct BlockSlot {
    unsigned parts = 0;              // bit per BlockPart
    int inputs = 0, breaks = 0;      // signals; break points of tables
    unsigned gathered = 0;           // bit per input whose rows differ between the lanes
    const int* offset = nullptr;     // per input and lane, from NodeRows::signals
    int constant[kBlockParts]{};     // rows
    int history = 0, rate = 0, on = 0, prediction = 0;  // rows of state
    int filter_step = 0, rate_step = 0;                 // rows of step coefficients
    [[nodiscard]] bool has(BlockPart part) const { return (parts >> part & 1U) != 0; }
};

struct BlockRows {
    int count = 0;
    const BlockSlot* slot = nullptr;
    int state_rows = 0, constant_rows = 0, step_rows = 0;  // of all slots
    double *published, *state;
    const double* constant;
    StepRows step;
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(published, count);
        l.written(state, state_rows);
        l.constant(constant, constant_rows);
        l.step(step, step_rows);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

[[gnu::always_inline]] inline Vec within(const Vec& x, const Vec& low, const Vec& high) {
    const Vec y = x < low ? low : x;
    return y > high ? high : y;
}
[[gnu::always_inline]] inline Vec signal(const BlockSlot& slot, const NodeRows& nodes, int input) {
    const int* const i = slot.offset + input * kLanes;
    if ((slot.gathered >> input & 1U) == 0) return *reinterpret_cast<const Vec*>(nodes.signals + i[0]);
    Vec out;
    for (int l = 0; l < kLanes; ++l) out[l] = nodes.signals[i[l]];
    return out;
}

// x = c + Σ w_k·u_k, or the product, the quotient … of the terms w_k·u_k + n_k, where n_k is neutral for lanes with fewer inputs.
// Time functions: A·(t - t0)/T between 0 and A; a step is the mean over Δt around t_n of one, which the trapezoidal rule integrates
// exactly wherever in a step it is. Tables: f(x) = f0 + m0·x + Σ (m_k - m_{k-1})·max(x - x_k, 0).
// Firing, in periods of the pulses: p is the part of a period since the last zero of the voltage, d the delay of the pulse; a pulse is
// on from d to the end e. With f·Δt turns in a step the next begins, or the present one began, (d - p [+ 1])/(f·Δt) steps from t_n on.
[[gnu::always_inline]] inline Vec combine(const BlockRows& b, const BlockSlot& slot, const NodeRows& nodes, const StepClock& clock) {
    const auto constant = [&](BlockPart part, int k) -> const Vec& { return row(b.constant, slot.constant[part] + k); };
    Vec x = constant(kSum, 0), term[kBlockInputs];
    for (int k = 0; k < slot.inputs; ++k) {
        term[k] = constant(kSum, 1 + k) * signal(slot, nodes, k);
        if (slot.has(kBias)) term[k] += constant(kBias, k);
        x += term[k];
    }
    if (slot.has(kRamp)) {
        const Vec zero{}, part = (clock.t_old - constant(kRamp, 1)) * constant(kRamp, 2);
        x += constant(kRamp, 0) * within(part, zero, zero + 1.0);
    }
    if (slot.has(kSine)) x += constant(kSine, 0) * cos_sin<Vec>(constant(kSine, 1) * clock.t_old + constant(kSine, 2)).cos;
    if ((slot.parts & ((1U << kFilter) - (1U << kProduct))) == 0) return x;
    if (slot.has(kProduct)) {
        Vec y = term[0];
        for (int k = 1; k < slot.inputs; ++k) y *= term[k];
        x = constant(kProduct, 0) != 0.0 ? y : x;
    }
    if (slot.has(kQuotient)) {
        const Mask here = constant(kQuotient, 0) != 0.0;
        const Vec one = Vec{} + 1.0;
        x = here ? term[0] / (here ? term[1] : one) : x;
    }
    if (slot.has(kMinimum)) {
        Vec y = term[0];
        for (int k = 1; k < slot.inputs; ++k) y = term[k] < y ? term[k] : y;
        x = constant(kMinimum, 0) != 0.0 ? y : x;
    }
    if (slot.has(kMaximum)) {
        Vec y = term[0];
        for (int k = 1; k < slot.inputs; ++k) y = term[k] > y ? term[k] : y;
        x = constant(kMaximum, 0) != 0.0 ? y : x;
    }
    if (slot.has(kAbsolute)) x = ((constant(kAbsolute, 0) != 0.0) & (x < 0.0)) ? -x : x;
    if (slot.has(kRoot)) {
        Vec y = x > 0.0 ? x : Vec{};
        for (int l = 0; l < kLanes; ++l) y[l] = __builtin_sqrt(y[l]);
        x = constant(kRoot, 0) != 0.0 ? y : x;
    }
    if (slot.has(kTable)) {
        Vec y = constant(kTable, 1) + constant(kTable, 2) * x;
        for (int k = 0; k < slot.breaks; ++k) {
            const Vec past = x - constant(kTable, 3 + 2 * k);
            y += constant(kTable, 4 + 2 * k) * (past > 0.0 ? past : Vec{});
        }
        x = constant(kTable, 0) != 0.0 ? y : x;
    }
    if (slot.has(kComparison)) {
        const Vec zero{}, one = zero + 1.0;
        // At an instant inside a step, the state is between two of its values.
        const Vec held = row(b.state, slot.on) > 0.5 ? one : zero;
        const Vec on = x > constant(kComparison, 1) ? one : x < constant(kComparison, 2) ? zero : held;
        row(b.state, slot.on) = on;
        x = constant(kComparison, 0) != 0.0 ? on : x;
    }
    if (slot.has(kSelection)) x = constant(kSelection, 0) != 0.0 ? (term[2] > 0.5 ? term[0] : term[1]) : x;
    if (slot.has(kFiring)) {
        const Mask here = constant(kFiring, 0) != 0.0;
        const Vec zero{}, one = zero + 1.0, frequency = here ? term[1] : one, d = term[2];
        const Vec turns = constant(kFiring, 1) * clock.t_old + term[0] + constant(kFiring, 2), periods = turns * constant(kFiring, 3);
        Vec p = periods - whole(periods);
        p = p < 0.0 ? p + 1.0 : p;
        Vec wait = d - p;
        wait = p < constant(kFiring, 5) ? wait : wait + 1.0;
        Vec y = wait * constant(kFiring, 6) / frequency;
        y = d > constant(kFiring, 4) ? y : zero;
        y = d < constant(kFiring, 5) ? y : zero + kNotFired;
        x = here ? y : x;
    }
    return x;
}

// a0·y + a1·y' = b0·x + b1·x' by the trapezoidal rule (Dommel 1969) with k = 2/Δt and D = a0 + k·a1:
//   y_n = g·x_n + h_n,   g = (b0 + k·b1)/D,   h_{n+1} = ((b0 - k·b1)·x_n + (k·a1 - a0)·y_n)/D,
// and in half steps of backward Euler (Martí and Lin 1989) h_{n+1} = (-k·b1·x_n + k·a1·y_n)/D with the same g. A limit without
// windup (IEEE 421.5-2016, annex E) holds y itself; the rate limits are around the last y. The output that closes a
// loop is read before its computation, as its prediction g·x_n + h_{n+1}: a step of Heun's method, of second order.
[[gnu::always_inline]] inline void compute(const BlockRows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    for (int s = 0; s < b.count; ++s) {
        const BlockSlot& slot = b.slot[s];
        const auto constant = [&](BlockPart part, int k) -> const Vec& { return row(b.constant, slot.constant[part] + k); };
        Vec y = combine(b, slot, nodes, clock), next = y;
        if (slot.has(kFilter)) {
            const Vec x = y, forward = constant(kFilter, 0) * x;
            y = forward + row(b.state, slot.history);
            if (slot.has(kHold)) y = within(y, constant(kHold, 0), constant(kHold, 1));
            const Vec h = row(b.step[kind], slot.filter_step) * x + row(b.step[kind], slot.filter_step + 1) * y;
            row(b.state, slot.history) = h;
            next = forward + h;
            if (slot.has(kHold)) next = within(next, constant(kHold, 0), constant(kHold, 1));
        }
        if (slot.has(kRate)) {
            y = within(y, row(b.state, slot.rate), row(b.state, slot.rate + 1));
            const Vec low = y - row(b.step[kind], slot.rate_step), high = y + row(b.step[kind], slot.rate_step + 1);
            row(b.state, slot.rate) = low;
            row(b.state, slot.rate + 1) = high;
            next = within(next, low, high);
        }
        if (slot.has(kClip)) {
            y = within(y, constant(kClip, 0), constant(kClip, 1));
            next = within(next, constant(kClip, 0), constant(kClip, 1));
        }
        if (slot.has(kPrediction)) row(b.state, slot.prediction) = next + 0.0;
        row(b.published, s) = y + 0.0;  // -0 becomes +0: parts that other lanes need must not show
    }
}

}  // namespace EMT_KERNEL
#else

struct Block {
    enum class Operation : unsigned char { sum, product, quotient, minimum, maximum, absolute, root, table, comparison, selection, firing };
    /// (b0 + b1·s)/(a0 + a1·s)
    struct Filter {
        double b0 = 1, b1 = 0, a0 = 1, a1 = 0;
        [[nodiscard]] bool none() const { return b1 == 0 && a1 == 0 && a0 == b0; }
        [[nodiscard]] bool integrates() const { return a0 == 0; }
        bool operator==(const Filter&) const = default;
    };
    struct Limits {
        double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
        [[nodiscard]] bool none() const { return low == -std::numeric_limits<double>::infinity() && high == std::numeric_limits<double>::infinity(); }
        [[nodiscard]] double of(double x) const { return x < low ? low : x > high ? high : x; }
    };
    struct Ramp {  // from 0 to amplitude
        double amplitude = 0, start_s = 0, duration_s = 1;
    };
    struct Sine {  // amplitude·cos(2π(ft + phase))
        double amplitude = 0, frequency_hz = 0, phase_turns = 0;
    };
    /// Pulses of a gate. Inputs: the voltage's angle relative to the case's frequency, turns; the frequency, Hz; and
    /// the delay after the zero of the voltage, in periods of the pulses.
    struct Pulses {
        double frequency_hz = 0;   // of the case
        double phase_turns = 0;    // the zero of the voltage is where the angle and this are whole periods
        double period_turns = 1;
        double always = 0, end = 1;  // delays up to `always`: gate always on; from `end`: never on
        double dt_s = 0;
        /// Returns the output at t = 0.
        [[nodiscard]] double at_start(double angle_turns, double frequency, double delay) const;
    };
    /// A block at t = 0.
    struct Start {
        double x, y;      // the input of the filter, and its output before limits with windup
        double constant;  // of the sum; an open reference takes the value that the steady state requires
    };

    std::string name, element;        // `element`: the block itself, or the element that it is part of
    std::string bounds;               // parameters of its limits, for messages
    Operation operation = Operation::sum;
    int inputs = 0;
    std::array<int, kBlockInputs> reads{kNoSignal, kNoSignal, kNoSignal, kNoSignal};
    std::array<double, kBlockInputs> weight{};
    double constant = 0;
    bool open = false;                // the steady state determines its constant
    Ramp ramp{};
    Sine sine{};
    std::vector<double> table_x, table_y;
    double on = 0, off = 0;           // thresholds of a comparison
    Pulses pulses{};
    Filter filter{};
    Limits hold{}, clip{};            // without and with windup
    double rate_down = std::numeric_limits<double>::infinity(), rate_up = std::numeric_limits<double>::infinity();  // per second
    std::optional<double> initial{};  // of what has a state
    std::array<int, 1> publishes{kNoSignal};

    // Set when blocks are sorted (network/block_order.cpp).
    std::array<bool, kBlockInputs> early{};  // reads the prediction of a block that comes later
    bool predicts = false;

    /// Returns true if its output does not depend on its input at the same instant: then it may close a loop.
    [[nodiscard]] bool closes_loops() const { return filter.b1 == 0 && filter.a1 != 0; }
    /// Returns its parts beyond a sum, as bits of BlockPart.
    [[nodiscard]] unsigned parts() const;
    /// Returns the input of the filter for values of the inputs, with sources at rest.
    [[nodiscard]] double combined(const std::array<double, kBlockInputs>& u) const;
    [[nodiscard]] double looked_up(double x) const;
    /// Writes coefficients and state of one lane.
    void start(const LaneStart& lane, const BlockRows& rows, int slot, const Start& at) const;
};
#endif

}  // namespace emt
