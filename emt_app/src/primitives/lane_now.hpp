// Data for a primitive's branch currents after a step: one lane of a batch.
#pragma once
#include "primitives/lane_start.hpp"

namespace emt {

struct LaneNow {
    double t_s;
    int lane;
    const double* v;  // rows of the nodes' voltages, V

    [[nodiscard]] double at(const double* rows, int row) const { return cell(rows, row, lane); }
    [[nodiscard]] double voltage(int node) const { return node == kGround ? 0.0 : at(v, node); }
    [[nodiscard]] double across(const Nodes2& node) const { return voltage(node[0]) - voltage(node[1]); }
};

}  // namespace emt
