// Source whose size is a signal: it injects the current that its EMF drives through its impedance into a short circuit. The impedance
// is another primitive beside it. An ideal current source has none: here g = 1 and no history.
#ifndef EMT_PRIMITIVES_DRIVEN_SOURCE_HPP
#define EMT_PRIMITIVES_DRIVEN_SOURCE_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct DrivenSourceRows {
    Slots<2> at;
    Slots<1> reads;                          // the signal
    double *h, *e;                           // history current, A; EMF after the step, V
    const double *g, *real, *imag, *steady;  // S; phasor and constant part of the EMF per unit of the signal, V
    StepRows a, b;
    template <class Layout>
    void lay_out(Layout& l) {
        for (double** r : {&h, &e}) l.written(*r, at.count);
        for (const double** r : {&g, &real, &imag, &steady}) l.constant(*r, at.count);
        for (StepRows* r : {&a, &b}) l.step(*r, at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// By superposition, i = g·(u - e) + h of a branch with an EMF (branch.hpp) is the current of the branch alone, minus
//   j_{n+1} = g·e_{n+1} + h_{n+1},   h_{n+1} = a·e_n + b·h_n,   e_{n+1} = s_n·w(t_{n+1}).
// The signal s_n is the value at the beginning of the step, as everywhere.
[[gnu::always_inline]] inline void assemble(const DrivenSourceRows& b, const NodeRows& nodes, int kind, const StepClock& clock) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Terminals signal(b.reads, s);
        const Vec h = row(b.a[kind], s) * row(b.e, s) + row(b.b[kind], s) * row(b.h, s);
        const Vec wave = row(b.real, s) * clock.cos_new - row(b.imag, s) * clock.sin_new + row(b.steady, s);
        const Vec e = signal.get(nodes.signals, 0) * wave, j = row(b.g, s) * e + h;
        row(b.h, s) = h;
        row(b.e, s) = e;
        t.add(nodes.j, 0, j);
        t.add(nodes.j, 1, -j);
    }
}

}  // namespace EMT_KERNEL
#else

struct DrivenSource {
    using Rows = DrivenSourceRows;
    static constexpr double kStepNs = 4;

    Nodes2 node;          // the current flows into the first, out of the second
    double g;             // S; 1 for a current source
    Companion c;
    Waveform wave;        // per unit of the signal: a sine at the case's frequency, or a constant
    std::array<int, 1> reads;

    /// Returns the signal that a steady start needs: the amplitude of a sine is that of the start, a constant is off before t = 0.
    [[nodiscard]] double at_start(double frequency_hz) const { return wave.steady(frequency_hz) ? 1 : 0; }
    [[nodiscard]] std::array<const Waveform*, 1> sources() const { return {&wave}; }

    template <class Matrix>
    void stamp(Matrix&) const {}
    void stamp_phasor(PhasorEquations& y) const {
        if (!wave.steady(y.frequency_hz)) return;
        const Complex j = c.admittance(g, y.z) * wave.phasor();
        y.inject(node[0], j);
        y.inject(node[1], -j);
    }
    void start(const LaneStart& lane, const Rows& rows, int slot) const {
        const bool sine = wave.steady(lane.frequency_hz);
        const Complex e = sine ? wave.phasor() : Complex{};
        lane.at(rows.g, slot) = g;
        lane.at(rows.real, slot) = e.real();
        lane.at(rows.imag, slot) = e.imag();
        lane.at(rows.steady, slot) = sine ? 0 : wave.amplitude;
        lane.step(rows.a, slot, c.a, c.a_be);
        lane.step(rows.b, slot, c.b, c.b_be);
        // From rest, the source is off before t = 0.
        lane.at(rows.h, slot) = lane.steady() ? (c.a * e / (lane.z - c.b)).real() : 0;
        lane.at(rows.e, slot) = lane.steady() ? e.real() : 0;
        if (lane.steady()) lane.require(reads[0], at_start(lane.frequency_hz));
    }
    /// Returns the current that it injects into its first node.
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int) const { return g * now.at(rows.e, slot) + now.at(rows.h, slot); }
};
#endif

}  // namespace emt
#endif
EMT_PRIMITIVE(DrivenSource, driven_sources)
