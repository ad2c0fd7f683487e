// Inductances and capacitances to ground, merged at each node, and resistances.
#pragma once
#include "primitives/primitive.hpp"

namespace emt {

/// One row per node.
struct ReactanceRows {
    double *inductor, *capacitor;             // history currents, A
    const double *inductive2, *capacitive2;   // 2Δt/2L and 2·2C/Δt, S
    template <class Layout>
    void lay_out(Layout& l, int nodes) {
        l.written(inductor, nodes);
        l.written(capacitor, nodes);
        l.constant(inductive2, nodes);
        l.constant(capacitive2, nodes);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// Inductance (Dommel 1969):   g = Δt/2L,  h' = h + 2g·v     half steps of backward Euler (Martí and Lin 1989):  h' = h + g·v
// Capacitance:                g = 2C/Δt,  h' = -h - 2g·v                                                       h' = -g·v
// Begins the right-hand side: j = -(h_L + h_C) at each node, 0 at ground.
[[gnu::always_inline]] inline void assemble(const ReactanceRows& b, const NodeRows& nodes, int count, int kind) {
    const double scale = kind == kTrapezoidal ? 1 : 0.5, keep = kind == kTrapezoidal ? -1 : 0;
    const Vec zero{};
    for (int i = 0; i < count; ++i) {
        const Vec v = scale * row(nodes.v, i);
        const Vec l = row(b.inductor, i) + row(b.inductive2, i) * v;
        const Vec c = keep * row(b.capacitor, i) - row(b.capacitive2, i) * v;
        row(b.inductor, i) = l;
        row(b.capacitor, i) = c;
        row(nodes.j, i) = zero - (l + c);
    }
    row(nodes.j, count) = zero;
}

}  // namespace EMT_KERNEL
#else

struct Conductance {
    Nodes2 node;
    double g;  // S
    template <class Matrix>
    void stamp(Matrix& y) const { y.pair(node, g); }
    void stamp_phasor(PhasorEquations& y) const { y.pair(node, g); }
    [[nodiscard]] double carried(const LaneNow& now) const { return g * now.across(node); }
};

/// Pure inductance or capacitance; parallel ones merge. For an inductor g = Δt/2L, for a capacitor g = 2C/Δt.
struct Reactive {
    Nodes2 node;
    double g;         // S
    bool capacitive;
    double i0 = 0;    // inductor: current at t = 0, A (zero start only)
    void stamp_phasor(PhasorEquations& y) const {
        y.pair(node, capacitive ? g - 2 * g / (y.z + 1.0) : g + 2 * g / (y.z - 1.0));
    }
};

/// The merged reactances at one node.
struct NodeReactance {
    double inductive = 0, capacitive = 0;  // Δt/2L and 2C/Δt to ground, S
    double i0 = 0;                         // of the inductance, A
    void start(const LaneStart& lane, const ReactanceRows& rows, int node) const {
        lane.at(rows.inductive2, node) = 2 * inductive;
        lane.at(rows.capacitive2, node) = 2 * capacitive;
        const Complex v = lane.phasor(node);
        lane.at(rows.inductor, node) = lane.steady() ? (2 * inductive * v / (lane.z - 1.0)).real() : i0 - inductive * lane.initial(node);
        // Before a start from zero no current flows; its first step, if there is any voltage, does not read this.
        lane.at(rows.capacitor, node) = lane.steady() ? (-2 * capacitive * v / (lane.z + 1.0)).real() : -capacitive * lane.initial(node);
    }
    [[nodiscard]] double carried(const LaneNow& now, const ReactanceRows& rows, int node, bool of_capacitance) const {
        return of_capacitance ? capacitive * now.voltage(node) + now.at(rows.capacitor, node)
                              : inductive * now.voltage(node) + now.at(rows.inductor, node);
    }
};
#endif

}  // namespace emt
