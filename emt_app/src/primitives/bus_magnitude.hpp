// Magnitude of a three-phase voltage as a signal, behind a lag.
#ifndef EMT_PRIMITIVES_BUS_MAGNITUDE_HPP
#define EMT_PRIMITIVES_BUS_MAGNITUDE_HPP
#include "primitives/lag.hpp"
#ifndef EMT_KERNEL
#include <cmath>
#endif

namespace emt {

struct BusMagnitudeRows : LagRows<3> {};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// With the orthonormal Clarke transformation of line.hpp, m = √(2/3)·|v_αβ|. For a positive sequence alone, m is its
// peak:
//   m² = 2/3·(v_α² + v_β²) = 4/9·(v_a - (v_b + v_c)/2)² + (v_b - v_c)²/3.
[[gnu::always_inline]] inline void publish(const BusMagnitudeRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec vb = t.get(nodes.v, 1), vc = t.get(nodes.v, 2), x = t.get(nodes.v, 0) - 0.5 * (vb + vc), y = vb - vc;
        Vec m = (4.0 / 9) * (x * x) + (1.0 / 3) * (y * y);
        for (int l = 0; l < kLanes; ++l) m[l] = __builtin_sqrt(m[l]);
        publish_lag(b, s, kind, m);
    }
}

}  // namespace EMT_KERNEL
#else

struct BusMagnitude : Measuring {
    using Rows = BusMagnitudeRows;
    static constexpr double kStepNs = 14;

    Nodes3 node;
    double scale;   // per V
    double g;
    Companion c;
    std::array<int, 1> publishes;

    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        start_lag(lane, rows, slot, g, c, scale);
        if (lane.steady()) {  // for an unbalanced voltage, the positive sequence
            const Complex positive = lane.positive_sequence(node);
            const double m = std::sqrt(std::norm(positive));
            lane.at(rows.h, slot) = scale * c.a * m / (1 - c.b);
            lane.publish(publishes[0], scale * m);
        } else {  // from zero
            const double vb = lane.initial(node[1]), vc = lane.initial(node[2]), x = lane.initial(node[0]) - 0.5 * (vb + vc);
            lane.at(rows.h, slot) = -scale * g * std::sqrt(4.0 / 9 * x * x + (vb - vc) * (vb - vc) / 3);
            lane.publish(publishes[0], 0);
        }
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(BusMagnitude, bus_magnitudes)
