// Odd piecewise-linear characteristic i(x): x is the voltage (resistor) or the flux linkage (inductor).
#pragma once
#include "primitives/primitive.hpp"
#ifndef EMT_KERNEL
#include <vector>
#endif

namespace emt {

struct PiecewiseRows {
    Slots<2> at;
    double* x;                                // history of x, V or Wb
    double *low, *high, *slope, *offset;      // of the present segment: i = offset + slope·x
    const double* gain;                       // x_n = history + gain·u_n
    StepRows a, b;
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(x, at.count);
        for (double** r : {&low, &high, &slope, &offset}) l.state(*r, at.count);
        l.constant(gain, at.count);
        l.step(a, at.count);
        l.step(b, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// Flux linkage by the trapezoidal rule (Dommel 1969): x_n = history + Δt/2·u_n, history' = a·u_n + b·history with
// a = 2·Δt/2, b = 1, and in half steps of backward Euler a = Δt/2. A resistor has x = u and a = b = 0. On its segment the
// element is a conductance slope·gain beside the current offset + slope·history (H. W. Dommel, "Nonlinear and time-varying
// elements in digital simulation of electromagnetic transients", IEEE Trans. PAS-90(6), 1971).
[[gnu::always_inline]] inline void assemble(const PiecewiseRows& b, const NodeRows& nodes, int kind) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec u = t.get(nodes.v, 0) - t.get(nodes.v, 1);
        const Vec x = row(b.a[kind], s) * u + row(b.b[kind], s) * row(b.x, s);
        row(b.x, s) = x;
        const Vec h = row(b.offset, s) + row(b.slope, s) * x;
        t.add(nodes.j, 0, -h);
        t.add(nodes.j, 1, h);
    }
}

// The solution belongs to the segments if low ≤ history + gain·u ≤ high everywhere. Returns all bits of other lanes.
[[gnu::always_inline]] inline Mask outside(const PiecewiseRows& b, const double* v) {
    Mask bad{};
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec x = row(b.x, s) + row(b.gain, s) * (t.get(v, 0) - t.get(v, 1));
        bad |= (x < row(b.low, s)) | (x > row(b.high, s));
    }
    return bad;
}

}  // namespace EMT_KERNEL
#else

struct Piecewise {
    using Rows = PiecewiseRows;
    static constexpr double kStepNs = 4.9;
    /// i = offset + slope·x for low ≤ x ≤ high.
    struct Segment {
        double low, high, slope, offset;
    };

    Nodes2 node;
    bool inductive;
    std::vector<double> x, i;  // break points, from (0,0) upwards; the last slope continues
    double x0 = 0;             // flux linkage at t = 0, Wb (zero start only)

    /// Returns segment k, counted from the origin, up to last_segment(); k < 0 mirrors -k.
    [[nodiscard]] Segment segment(int k) const;
    [[nodiscard]] int last_segment() const { return static_cast<int>(x.size()) - 2; }
    /// Returns the segment of x.
    [[nodiscard]] int segment_at(double x) const;
    /// Returns the gain of x = history + gain·u: 1 for a resistor, Δt/2 for an inductor's flux.
    [[nodiscard]] double gain(double dt_s) const { return inductive ? dt_s / 2 : 1; }

    template <class Matrix>
    void stamp(Matrix& y, double conductance) const { y.pair(node, conductance); }
    /// Stamps the first segment.
    void stamp_phasor(PhasorEquations& y, double dt_s) const {
        const double k = gain(dt_s), slope = segment(0).slope;
        y.pair(node, inductive ? slope * (k + 2 * k / (y.z - 1.0)) : Complex(slope * k));
    }
    void start(const LaneStart& lane, const Rows& rows, int slot) const;
    /// Return voltage or flux linkage, V or Wb, and its current.
    [[nodiscard]] double argument(const LaneNow& now, const Rows& rows, int slot) const {
        return now.at(rows.x, slot) + now.at(rows.gain, slot) * now.across(node);
    }
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int) const {
        const double at = argument(now, rows, slot);
        const Segment s = segment(segment_at(at));
        return s.offset + s.slope * at;
    }
};
#endif

}  // namespace emt
