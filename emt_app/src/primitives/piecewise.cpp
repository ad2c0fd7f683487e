#include "primitives/piecewise.hpp"

#include <cmath>
#include <limits>

namespace emt {

Piecewise::Segment Piecewise::segment(int k) const {
    const auto s = static_cast<std::size_t>(std::abs(k));
    const double slope = (i[s + 1] - i[s]) / (x[s + 1] - x[s]);
    const double offset = i[s] - slope * x[s];
    const double top = s + 2 < x.size() ? x[s + 1] : std::numeric_limits<double>::infinity();
    if (k == 0) return {-top, top, slope, 0};
    if (k > 0) return {x[s], top, slope, offset};
    return {-top, -x[s], slope, -offset};
}

int Piecewise::segment_at(double at) const {
    int s = 0;
    while (static_cast<std::size_t>(s) + 2 < x.size() && std::abs(at) > x[static_cast<std::size_t>(s) + 1]) ++s;
    return at < 0 ? -s : s;
}

void Piecewise::start(const LaneStart& lane, const Rows& rows, int slot) const {
    const double k = gain(lane.dt_s);
    const Segment first = segment(0);
    lane.at(rows.gain, slot) = k;
    lane.at(rows.low, slot) = first.low;
    lane.at(rows.high, slot) = first.high;
    lane.at(rows.slope, slot) = first.slope;
    lane.at(rows.offset, slot) = first.offset;
    if (!inductive) return;  // a resistor has no history: x = u
    lane.step(rows.a, slot, 2 * k, k);
    lane.step(rows.b, slot, 1, 1);
    lane.at(rows.x, slot) = lane.steady() ? (2 * k * lane.phasor_across(node[0], node[1]) / (lane.z - 1.0)).real()
                                          : x0 - k * lane.initial_across(node[0], node[1]);
}

}  // namespace emt
