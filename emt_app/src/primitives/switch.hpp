// Ideal switch as two conductances.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "primitives/admittances.hpp"

namespace emt {

struct Switch {
    Nodes2 node;
    double g_on, g_off;   // S
    bool closed;          // at the start
    bool at_current_zero; // opens at the first current zero after the time
    std::vector<std::pair<double, bool>> operations;  // time in s, closed after it; ascending
    std::string name;

    template <class Matrix>
    void stamp(Matrix& y, bool is_closed) const { y.pair(node, is_closed ? g_on : g_off); }
    void stamp_phasor(PhasorEquations& y) const { stamp(y, closed); }
};

}  // namespace emt
