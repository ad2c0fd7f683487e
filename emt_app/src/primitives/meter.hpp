// First-order low-pass of the squared voltage: the square of an r.m.s. meter. Reads the network, injects nothing.
#ifndef EMT_PRIMITIVES_METER_HPP
#define EMT_PRIMITIVES_METER_HPP
#include "primitives/lag.hpp"

namespace emt {

struct MeterRows : LagRows<2> {};  // V²

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// x = u², see lag.hpp
[[gnu::always_inline]] inline void publish(const MeterRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec u = t.get(nodes.v, 0) - t.get(nodes.v, 1);
        publish_lag(b, s, kind, u * u);
    }
}

}  // namespace EMT_KERNEL
#else

struct Meter : Measuring {
    using Rows = MeterRows;
    static constexpr double kStepNs = 1.0;

    Nodes2 node;
    double g;
    Companion c;
    std::array<int, 1> publishes;

    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        start_lag(lane, rows, slot, g, c);
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
