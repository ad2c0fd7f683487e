// Transposed three-phase Bergeron line in the modes 0, α, β, lossy by lumped R/4 – R/2 – R/4 (Dommel 1969; H. W. Dommel,
// EMTP Theory Book, 1986, ch. 4).
//
// With y = 1/(Z + R/4) a mode is i_k = y·v_k + I_k at end k. With the wave b = v + (Z - R/4)·i of each end, the history is
//     I_k(t) = -Z·y²·b_m(t-τ) - (R/4)·y²·b_k(t-τ).
// τ is d whole steps and a fraction w: b(t-τ) = (1 - w)·b_{n-d} + w·b_{n-d-1}.
#pragma once
#include "primitives/primitive.hpp"

namespace emt {

struct LineRows {
    Slots<3> at;
    double *history, *wave, *previous;        // 3 rows a slot: I_k, A; interpolated wave to send and b of the last step, V
    const double *y, *beta, *fraction;        // 2 rows a slot, for the zero sequence and for α and β: y, Z - R/4, w
    template <class Layout>
    void lay_out(Layout& l) {
        for (double** r : {&history, &wave, &previous}) l.written(*r, 3 * at.count);
        for (const double** r : {&y, &beta, &fraction}) l.constant(*r, 2 * at.count);
    }
};

/// One line on a rank: places of its ends' waves and histories (null if the end is on another rank), and its rings of
/// past waves.
struct LineJob {
    double* wave[2];     // interpolated waves of each end; modes are kLanes apart
    double* history[2];
    double* ring1;       // per step: α and β of end 0, α and β of end 1
    double* ring0;       // per step: end 0, end 1
    unsigned mask1, mask0, delay1, delay0;
    double far1, near1, far0, near0;  // Z·y² and (R/4)·y² of each sequence, S
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// Orthonormal Clarke transformation: v0 = (va + vb + vc)/√3, vα = √(2/3)·(va - (vb + vc)/2), vβ = (vb - vc)/√2; its inverse
// is its transpose.
constexpr double kZero = 0.57735026918962576451, kAlpha = 0.81649658092772603273, kBeta = 0.70710678118654752440;

// Histories I_0, I_α, I_β of a line's end, as phase currents out of its nodes: j -= Tᵀ·I.
[[gnu::always_inline]] inline void assemble(const LineRows& b, const NodeRows& nodes) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec h0 = kZero * row(b.history, 3 * s), ha = kAlpha * row(b.history, 3 * s + 1), hb = kBeta * row(b.history, 3 * s + 2);
        const Vec half = h0 - 0.5 * ha;
        t.add(nodes.j, 0, -(h0 + ha));
        t.add(nodes.j, 1, -(half + hb));
        t.add(nodes.j, 2, -(half - hb));
    }
}

// Waves that leave an end: b_n = v_n + (Z - R/4)·i_n with i_n = y·v_n + I_n; sent is (1 - w)·b_n + w·b_{n-1}.
[[gnu::always_inline]] inline void waves(const LineRows& b, const double* v) {
    for (int s = 0; s < b.at.count; ++s) {
        const Terminals t(b.at, s);
        const Vec va = t.get(v, 0), vb = t.get(v, 1), vc = t.get(v, 2);
        const Vec mode[3] = {kZero * (va + vb + vc), kAlpha * (va - 0.5 * (vb + vc)), kBeta * (vb - vc)};
        for (int m = 0; m < 3; ++m) {
            const int p = 2 * s + (m == 0 ? 0 : 1);
            const Vec i = row(b.y, p) * mode[m] + row(b.history, 3 * s + m);
            const Vec wave = mode[m] + row(b.beta, p) * i;
            const Vec w = row(b.fraction, p);
            row(b.wave, 3 * s + m) = (1.0 - w) * wave + w * row(b.previous, 3 * s + m);
            row(b.previous, 3 * s + m) = wave;
        }
    }
}

// Step n of a line's rings: entry n holds the waves sent at step n by both ends.
[[gnu::always_inline]] inline void store(const LineJob& l, int end, unsigned step) {
    double* r1 = l.ring1 + static_cast<long>(step & l.mask1) * 4 + 2 * end;
    const double* w = l.wave[end];
    r1[0] = w[kLanes];
    r1[1] = w[2 * kLanes];
    l.ring0[static_cast<long>(step & l.mask0) * 2 + end] = w[0];
}

// I_k of step n+1 = -(Z·y²·b_m + (R/4)·y²·b_k), both waves those of step n + 1 - d.
[[gnu::always_inline]] inline void load(const LineJob& l, int end, unsigned next) {
    const double* r1 = l.ring1 + static_cast<long>((next - l.delay1) & l.mask1) * 4;
    const double* r0 = l.ring0 + static_cast<long>((next - l.delay0) & l.mask0) * 2;
    const int other = 1 - end;
    double* h = l.history[end];
    h[0] = -(l.far0 * r0[other] + l.near0 * r0[end]);
    h[kLanes] = -(l.far1 * r1[2 * other] + l.near1 * r1[2 * end]);
    h[2 * kLanes] = -(l.far1 * r1[2 * other + 1] + l.near1 * r1[2 * end + 1]);
}

// store() and load() of both ends at once: an old entry is read once for the two of them, α and β of both as one vector.
// The sums have the same order as in load().
[[gnu::always_inline]] inline void store_and_load(const LineJob& l, unsigned step) {
    using Four = double __attribute__((vector_size(32), aligned(32), may_alias));
    double *const a = l.wave[0], *const b = l.wave[1], *const ha = l.history[0], *const hb = l.history[1];
    double* const now0 = l.ring0 + static_cast<long>(step & l.mask0) * 2;
    *reinterpret_cast<Four*>(l.ring1 + static_cast<long>(step & l.mask1) * 4) = Four{a[kLanes], a[2 * kLanes], b[kLanes], b[2 * kLanes]};
    now0[0] = a[0];
    now0[1] = b[0];
    const Four old1 = *reinterpret_cast<const Four*>(l.ring1 + static_cast<long>((step + 1 - l.delay1) & l.mask1) * 4);
    const double* const old0 = l.ring0 + static_cast<long>((step + 1 - l.delay0) & l.mask0) * 2;
    const double old0a = old0[0], old0b = old0[1];
    const Four other1{old1[2], old1[3], old1[0], old1[1]};
    const Four h = -(l.far1 * other1 + l.near1 * old1);
    ha[0] = -(l.far0 * old0b + l.near0 * old0a);
    hb[0] = -(l.far0 * old0a + l.near0 * old0b);
    ha[kLanes] = h[0];
    ha[2 * kLanes] = h[1];
    hb[kLanes] = h[2];
    hb[2 * kLanes] = h[3];
}

}  // namespace EMT_KERNEL
#else

struct LineMode {
    double z;          // surge impedance Z, ohm
    double r;          // total series resistance R, ohm
    int delay;         // d, whole steps
    double fraction;   // w, of a step
    [[nodiscard]] double y() const { return 1 / (z + r / 4); }
    [[nodiscard]] double c_far() const { return z * y() * y(); }
    [[nodiscard]] double c_near() const { return r / 4 * y() * y(); }
};

struct Line {
    std::array<Nodes3, 2> end;
    std::array<LineMode, 2> mode;  // zero sequence; α and β
    void stamp_phasor(PhasorEquations& y) const;
};

/// Wave and history phasors of a line's mode at both ends.
struct LineModePhasors {
    std::array<Complex, 2> history;  // I_k, A
    std::array<Complex, 2> wave;     // b, V
    std::array<Complex, 2> sent;     // interpolated wave, V
};
/// Returns the phasors of the modes 0, α, β, from the phasors of all nodes of the case.
[[nodiscard]] std::array<LineModePhasors, 3> line_phasors(const Line& line, Complex z, std::span<const Complex> phasors);

/// One end of a line inside a task.
struct LineEnd {
    using Rows = LineRows;
    static constexpr double kStepNs = 9.6;

    Nodes3 node;       // local numbers
    int line, end;     // number of the line in the case, 0 or 1
    Line of;

    template <class Matrix>
    void stamp(Matrix& matrix) const {
        // Tᵀ·diag(y0, y1, y1)·T
        const double y0 = of.mode[0].y(), y1 = of.mode[1].y();
        const double self = (y0 + 2 * y1) / 3, mutual = (y0 - y1) / 3;
        matrix.block(node, 0, 0, [&](std::size_t i, std::size_t k) { return i == k ? self : mutual; });
    }
    void start(const LaneStart& lane, const Rows& rows, int slot) const;
    /// Returns the current of a phase into the line, A: Tᵀ·(y·v + I) of the modes.
    [[nodiscard]] double carried(const LaneNow& now, const Rows& rows, int slot, int phase) const;
    /// Returns v + (Z - R/4)·y·v of a mode: the voltages' contribution to the leaving wave, V.
    [[nodiscard]] double wave_of_voltages(const LaneNow& now, const Rows& rows, int slot, int mode) const;
};
#endif

}  // namespace emt
