// Ideal switch as two conductances: a breaker's pole, which moves on order, or a valve, which moves without an order.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "primitives/conduction.hpp"
#include "primitives/lane_now.hpp"
#include "primitives/rows.hpp"

namespace emt {

/// A diode closes when its voltage becomes positive and opens when its current becomes negative, from the first node (anode)
/// to the second (cathode). A thyristor closes only while it is fired. A pair is two antiparallel thyristors with a
/// common gate: it closes at either polarity, and its current continues through zeros while the gate is on.
enum class Valve { none, diode, thyristor, pair };

/// Pulses on a thyristor's gate: from start_s on, every period_s, each of width_s.
struct Firing {
    double start_s = 0, period_s = 0, width_s = 0;
    /// Returns the first instant not before t_s with the gate on, s.
    [[nodiscard]] double on_from(double t_s) const {
        if (t_s < start_s) return start_s;
        const double pulse = start_s + std::floor((t_s - start_s) / period_s) * period_s;
        return t_s < pulse + width_s ? t_s : pulse + period_s;
    }
};

struct Switch {
    Nodes2 node;
    double g_on, g_off;   // S
    bool closed;          // at the start
    bool at_current_zero; // opens at the first current zero after the time
    std::vector<std::pair<double, bool>> operations;  // time in s, closed after it; ascending
    std::string name;
    Valve valve = Valve::none;
    Firing firing{};
    /// Signal that fires a valve's gate: the instant from which the gate is on, in steps after the beginning of the
    /// coming step; 0 or less: it is on; above 1: not in this step.
    std::array<int, 1> reads{kNoSignal};
    /// For a gentle closing, a pair waits for a zero of its voltage or a minimum below this, V.
    double gentle_below = std::numeric_limits<double>::infinity();
    Conduction conduction{};  // in the steady state, of a pair that fires a reactor

    [[nodiscard]] bool gentle() const { return gentle_below < std::numeric_limits<double>::infinity(); }
    template <class Matrix>
    void stamp(Matrix& y, bool is_closed) const { y.pair(node, is_closed ? g_on : g_off); }
    void stamp_phasor(PhasorEquations& y) const { stamp(y, closed || conduction.partial()); }
    /// Returns the state at t = 0; `across`: phasor of its voltage in a steady start.
    [[nodiscard]] bool starts_closed(Complex across) const { return conduction.partial() ? conduction.current(g_on * across) != 0 : closed; }
    [[nodiscard]] double carried(const LaneNow& now, bool is_closed) const { return (is_closed ? g_on : g_off) * now.across(node); }
};

}  // namespace emt
