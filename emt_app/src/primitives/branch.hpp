// Series R–L or R–C branch, and merged L or C between two nodes: i_n = g·u_n + h_n.
#ifndef EMT_PRIMITIVES_BRANCH_HPP
#define EMT_PRIMITIVES_BRANCH_HPP
#include "primitives/primitive.hpp"
#ifndef EMT_KERNEL
#include "primitives/conduction.hpp"
#endif

namespace emt {

struct BranchRows : CompanionRows {};  // h: history current, A

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// h_{n+1} = a·u_n + b·h_n, with a, b of Dommel 1969 (R–L: EMTP Theory Book, ch. 2) or, in half steps of backward Euler,
// of Martí and Lin 1989; companion.hpp has them. The right-hand side gets -h at the first node, +h at the second.
[[gnu::always_inline]] inline void assemble(const BranchRows& b, const NodeRows& nodes, int kind, const StepClock&) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec u = t.get(nodes.v, 0) - t.get(nodes.v, 1);
        const Vec h = row(b.a[kind], s) * u + row(b.b[kind], s) * row(b.h, s);
        row(b.h, s) = h;
        t.add(nodes.j, 0, -h);
        t.add(nodes.j, 1, h);
    }
}

}  // namespace EMT_KERNEL
#else

struct Branch {
    using Rows = BranchRows;
    static constexpr double kStepNs = 3.3;

    Nodes2 node;
    double g;        // S
    Companion c;
    double i0 = 0;   // current at t = 0, A (zero start only)
    Conduction conduction{};  // of a reactor behind thyristors, in the steady state

    template <class Matrix>
    void stamp(Matrix& y) const { y.pair(node, g); }
    void stamp_phasor(PhasorEquations& y) const { y.pair(node, conduction.part * c.admittance(g, y.z)); }
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        lane.step(rows.a, slot, c.a, c.a_be);
        lane.step(rows.b, slot, c.b, c.b_be);
        const Complex u = lane.phasor_across(node[0], node[1]);
        if (lane.steady() && conduction.partial())
            lane.at(rows.h, slot) = conduction.current(conduction.part * c.admittance(g, lane.z) * u) - g * u.real();
        else
            lane.at(rows.h, slot) = lane.steady() ? (c.a * u / (lane.z - c.b)).real() : i0 - g * lane.initial_across(node[0], node[1]);
    }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(Branch, branches)
