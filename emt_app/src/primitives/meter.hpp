// First-order low-pass of the squared voltage: the square of an r.m.s. meter. Reads the network, injects nothing.
#ifndef EMT_PRIMITIVES_METER_HPP
#define EMT_PRIMITIVES_METER_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct MeterRows : CompanionRows {  // h: history of the lag's output, V²
    double* published;              // its output
    const double* g;
    template <class Layout>
    void lay_out(Layout& l) {
        CompanionRows::lay_out(l);
        l.written(published, at.count);
        l.constant(g, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// T·y' = u² - y by the trapezoidal rule (Dommel 1969, as for an R–L branch with R = 1 and L = T): y_n = g·u_n² + h_n,
// h_{n+1} = a·u_n² + b·h_n with the coefficients of companion_lag().
[[gnu::always_inline]] inline void publish(const MeterRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec u = t.get(nodes.v, 0) - t.get(nodes.v, 1), square = u * u, h = row(b.h, s);
        row(b.published, s) = row(b.g, s) * square + h;
        row(b.h, s) = row(b.a[kind], s) * square + row(b.b[kind], s) * h;
    }
}
[[gnu::always_inline]] inline void assemble(const MeterRows&, const NodeRows&, int, const StepClock&) {}

}  // namespace EMT_KERNEL
#else

struct Meter {
    using Rows = MeterRows;
    static constexpr double kStepNs = 1.0;

    Nodes2 node;
    double g;
    Companion c;
    std::array<int, 1> publishes;

    template <class Matrix>
    void stamp(Matrix&) const {}
    void stamp_phasor(PhasorEquations&) const {}
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.at(rows.g, slot) = g;
        lane.step(rows.a, slot, c.a, c.a_be);
        lane.step(rows.b, slot, c.b, c.b_be);
        // The square of a sine is a constant and a sine of twice the frequency.
        const Complex u = lane.phasor_across(node[0], node[1]);
        lane.at(rows.h, slot) = c.a * std::norm(u) / 2 / (1 - c.b) + (c.a * u * u / 2.0 / (lane.z * lane.z - c.b)).real();
        lane.publish(publishes[0], std::norm(u) / 2);
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(Meter, meters)
