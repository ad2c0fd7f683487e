// Voltage between two nodes as a signal.
#ifndef EMT_PRIMITIVES_VOLTAGE_PROBE_HPP
#define EMT_PRIMITIVES_VOLTAGE_PROBE_HPP
#include "primitives/measuring.hpp"

namespace emt {

struct VoltageProbeRows : MeasuringRows {
    Slots<2> at;
    double* published;
    const double* scale;  // per V
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(published, at.count);
        l.constant(scale, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// u = v_p - v_q
[[gnu::always_inline]] inline void publish(const VoltageProbeRows& b, const NodeRows& nodes, int, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        row(b.published, s) = row(b.scale, s) * (t.get(nodes.v, 0) - t.get(nodes.v, 1));
    }
}

}  // namespace EMT_KERNEL
#else

struct VoltageProbe : Measuring {
    using Rows = VoltageProbeRows;
    static constexpr double kStepNs = 1.0;

    Nodes2 node;
    double scale;
    std::array<int, 1> publishes;

    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.at(rows.scale, slot) = scale;
        lane.publish(publishes[0], lane.steady() ? 0 : scale * lane.initial_across(node[0], node[1]));
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(VoltageProbe, voltage_probes)
