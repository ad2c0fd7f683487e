// Coefficients and initial state of a batch.
//
// A steady start sets every history to the real part of its phasor: H = a·U/(z - b) for a companion. A zero start sets
// the initial node voltages and inductor currents given by the case, and every other history so that its branch carries
// no current (or flux) at t = 0: h = -g·u. Its first step is a discontinuity.
#include "solver/batch.hpp"

namespace emt {
namespace {

struct LaneFiller {
    const Network& net;
    const BatchView& b;
    const Task& task;
    const std::vector<Complex>& phasors;
    int lane;
    Complex z = step_operator(net);

    double& at(const double* base, int row) const { return const_cast<double*>(base)[static_cast<std::ptrdiff_t>(row) * kLanes + lane]; }
    [[nodiscard]] bool steady() const { return !phasors.empty(); }
    [[nodiscard]] Complex phasor(int local) const {
        return local == kGround || !steady() ? Complex{} : phasors[static_cast<std::size_t>(task.nodes[static_cast<std::size_t>(local)])];
    }
    [[nodiscard]] Complex across(int p, int q) const { return phasor(p) - phasor(q); }
    /// Voltage at t = 0, V; nodes() sets it.
    [[nodiscard]] double initial(int local) const { return local == kGround ? 0.0 : at(b.v, local); }
    [[nodiscard]] double initial_across(int p, int q) const { return initial(p) - initial(q); }

    void nodes() const {
        for (int i = 0; i < task.size(); ++i) {
            const auto k = static_cast<std::size_t>(i);
            const double gl = task.inductive[k], gc = task.capacitive[k];
            at(b.inductive2, i) = 2 * gl;
            at(b.capacitive2, i) = 2 * gc;
            const Complex v = phasor(i);
            at(b.v, i) = v.real();
            at(b.inductor, i) = (2 * gl * v / (z - 1.0)).real();
            at(b.capacitor, i) = (-2 * gc * v / (z + 1.0)).real();
            if (steady()) continue;
            if (const auto it = net.initial_voltage.find(task.nodes[k]); it != net.initial_voltage.end()) at(b.v, i) = it->second;
            at(b.inductor, i) = task.inductive_i0[k] - gl * at(b.v, i);
        }
    }
    void branches() const {
        for (int s = 0; s < static_cast<int>(task.branches.size()); ++s) {
            const Branch& e = task.branches[static_cast<std::size_t>(s)];
            at(b.step[0].branch_a, s) = e.c.a;
            at(b.step[0].branch_b, s) = e.c.b;
            at(b.step[1].branch_a, s) = e.c.a_be;
            at(b.step[1].branch_b, s) = e.c.b_be;
            at(b.branch_h, s) = steady() ? (e.c.a * across(e.p, e.q) / (z - e.c.b)).real() : e.i0 - e.g * initial_across(e.p, e.q);
        }
        for (int s = 0; s < static_cast<int>(task.rlcs.size()); ++s) {
            const SeriesRlc& e = task.rlcs[static_cast<std::size_t>(s)];
            at(b.rlc_g, s) = e.g;
            at(b.step[0].rlc_e1, s) = 2 * e.zl;
            at(b.step[0].rlc_f1, s) = -1;
            at(b.step[0].rlc_e2, s) = 2 * e.zc;
            at(b.step[1].rlc_e1, s) = e.zl;
            at(b.step[1].rlc_f1, s) = 0;
            at(b.step[1].rlc_e2, s) = e.zc;
            const Complex kl = 2 * e.zl / (z + 1.0), kc = 2 * e.zc / (z - 1.0);
            const Complex i = e.g * across(e.p, e.q) / (1.0 - e.g * kl + e.g * kc);
            at(b.rlc_y1, s) = steady() ? (kl * i).real() : -initial_across(e.p, e.q);
            at(b.rlc_y2, s) = (kc * i).real();
        }
    }
    void coupled() const {
        for (int s = 0; s < static_cast<int>(task.coupled.size()); ++s) {
            const Coupled3& e = task.coupled[static_cast<std::size_t>(s)];
            std::array<Complex, 3> emf{}, u{};
            for (std::size_t k = 0; k < 3; ++k) {
                if (e.emf[k].steady(net.frequency_hz)) emf[k] = e.emf[k].phasor();
                u[k] = across(e.p[k], e.q[k]) - emf[k];
            }
            for (int i = 0; i < 3; ++i) {
                const auto r = static_cast<std::size_t>(i) * 3;
                Complex ge{}, ae{}, ae_be{};
                for (std::size_t m = 0; m < 3; ++m) {
                    const int row = 9 * s + 3 * i + static_cast<int>(m);
                    at(b.step[0].coupled_a, row) = e.a[r + m];
                    at(b.step[0].coupled_b, row) = e.b[r + m];
                    at(b.step[1].coupled_a, row) = e.a_be[r + m];
                    at(b.step[1].coupled_b, row) = e.b_be[r + m];
                    ge += e.g[r + m] * emf[m];
                    ae += e.a[r + m] * emf[m];
                    ae_be += e.a_be[r + m] * emf[m];
                }
                if (const Waveform& w = e.current[static_cast<std::size_t>(i)]; w.steady(net.frequency_hz)) ge += w.phasor();
                at(b.coupled_ge, 6 * s + i) = ge.real();
                at(b.coupled_ge, 6 * s + 3 + i) = ge.imag();
                at(b.step[0].coupled_ae, 6 * s + i) = ae.real();
                at(b.step[0].coupled_ae, 6 * s + 3 + i) = ae.imag();
                at(b.step[1].coupled_ae, 6 * s + i) = ae_be.real();
                at(b.step[1].coupled_ae, 6 * s + 3 + i) = ae_be.imag();
            }
            if (steady())
                coupled_history(e, u, s);
            else
                coupled_at_rest(e, s);
        }
    }
    /// H = -G·(u - e).
    void coupled_at_rest(const Coupled3& e, int s) const {
        for (std::size_t i = 0; i < 3; ++i) {
            double h = 0;
            for (std::size_t m = 0; m < 3; ++m) h -= e.g[i * 3 + m] * (initial_across(e.p[m], e.q[m]) - e.emf[m].at(0));
            at(b.coupled_h, 3 * s + static_cast<int>(i)) = h;
        }
    }
    /// H = (z - B)⁻¹·A·u by elimination.
    void coupled_history(const Coupled3& e, const std::array<Complex, 3>& u, int s) const {
        std::array<std::array<Complex, 4>, 3> m{};
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t k = 0; k < 3; ++k) {
                m[i][k] = (i == k ? z : Complex{}) - e.b[i * 3 + k];
                m[i][3] += e.a[i * 3 + k] * u[k];
            }
        for (std::size_t k = 0; k < 3; ++k)
            for (std::size_t i = 0; i < 3; ++i) {
                if (i == k) continue;
                const Complex f = m[i][k] / m[k][k];
                for (std::size_t c = 0; c < 4; ++c) m[i][c] -= f * m[k][c];
            }
        for (std::size_t i = 0; i < 3; ++i) at(b.coupled_h, 3 * s + static_cast<int>(i)) = (m[i][3] / m[i][i]).real();
    }
    void transformers() const {
        for (int s = 0; s < static_cast<int>(task.transformers.size()); ++s) {
            const Transformer3& e = task.transformers[static_cast<std::size_t>(s)];
            at(b.step[0].transformer_a, s) = e.c.a;
            at(b.step[0].transformer_b, s) = e.c.b;
            at(b.step[1].transformer_a, s) = e.c.a_be;
            at(b.step[1].transformer_b, s) = e.c.b_be;
            at(b.transformer_ratio, s) = e.ratio;
            at(b.transformer_m1, s) = e.m1;
            at(b.transformer_m2, s) = e.m2;
            for (std::size_t k = 0; k < 3; ++k) {
                const std::size_t next = (k + 1) % 3;
                const auto winding = [&](const auto& v) { return v(e.p[k]) - e.m1 * v(e.p[next]) - e.ratio * (v(e.s[k]) - e.m2 * v(e.s[next])); };
                at(b.transformer_h, 3 * s + static_cast<int>(k)) =
                    steady() ? (e.c.a * winding([&](int i) { return phasor(i); }) / (z - e.c.b)).real() : -e.g * winding([&](int i) { return initial(i); });
            }
        }
    }
    void line_ends() const {
        for (int s = 0; s < static_cast<int>(task.ends.size()); ++s) {
            const LineEnd& e = task.ends[static_cast<std::size_t>(s)];
            const Line& line = net.lines[static_cast<std::size_t>(e.line)];
            for (int k = 0; k < 2; ++k) {
                const LineMode& mode = line.mode[static_cast<std::size_t>(k)];
                at(b.line_y, 2 * s + k) = mode.y();
                at(b.line_beta, 2 * s + k) = mode.z - mode.r / 4;
                at(b.line_fraction, 2 * s + k) = mode.fraction;
            }
            if (!steady()) continue;
            std::array<std::array<Complex, 3>, 2> v;  // modal voltages of both ends
            for (std::size_t end = 0; end < 2; ++end) {
                std::array<Complex, 3> phase;
                for (std::size_t k = 0; k < 3; ++k) phase[k] = phasors[static_cast<std::size_t>(line.end[end][k])];
                v[end] = to_modes(phase[0], phase[1], phase[2]);
            }
            const auto end = static_cast<std::size_t>(e.end);
            for (std::size_t k = 0; k < 3; ++k) {
                const LineModePhasors p = line_mode_phasors(line.mode[k == 0 ? 0 : 1], z, v[0][k], v[1][k]);
                const int row = 3 * s + static_cast<int>(k);
                at(b.line_history, row) = p.history[end].real();
                at(b.line_wave, row) = p.sent[end].real();
                at(b.line_previous, row) = p.wave[end].real();
            }
        }
    }
    void piecewise() const {
        for (int s = 0; s < static_cast<int>(task.piecewise.size()); ++s) {
            const Piecewise& e = task.piecewise[static_cast<std::size_t>(s)];
            const double gain = piecewise_gain(e, net.dt_s);
            const Segment first = segment(e, 0);
            at(b.piecewise_gain, s) = gain;
            at(b.piecewise_low, s) = first.low;
            at(b.piecewise_high, s) = first.high;
            at(b.piecewise_slope, s) = first.slope;
            at(b.piecewise_offset, s) = first.offset;
            if (!e.inductive) continue;  // a resistor has no history: x = u
            at(b.step[0].piecewise_a, s) = 2 * gain;
            at(b.step[0].piecewise_b, s) = 1;
            at(b.step[1].piecewise_a, s) = gain;
            at(b.step[1].piecewise_b, s) = 1;
            at(b.piecewise_x, s) = steady() ? (2 * gain * across(e.p, e.q) / (z - 1.0)).real() : -gain * initial_across(e.p, e.q);
        }
    }
    void meters() const {
        for (int s = 0; s < static_cast<int>(task.meters.size()); ++s) {
            const Meter& e = task.meters[static_cast<std::size_t>(s)];
            at(b.step[0].meter_a, s) = e.c.a;
            at(b.step[0].meter_b, s) = e.c.b;
            at(b.step[1].meter_a, s) = e.c.a_be;
            at(b.step[1].meter_b, s) = e.c.b_be;
            // The square of a sine is a constant and a sine of twice the frequency.
            const Complex u = across(e.p, e.q);
            at(b.meter_h, s) = e.c.a * std::norm(u) / 2 / (1 - e.c.b) + (e.c.a * u * u / 2.0 / (z * z - e.c.b)).real();
        }
    }
};

}  // namespace

void Batch::fill(const Network& net, const std::vector<Complex>& phasors) {
    for (int l = 0; l < lanes(); ++l) {
        const LaneFiller f{net, view_, *lane(l).task, phasors, l};
        f.nodes();
        f.branches();
        f.coupled();
        f.transformers();
        f.line_ends();
        f.piecewise();
        f.meters();
        for (int s = 0; s < static_cast<int>(lane(l).task->coupled.size()); ++s) {
            const Coupled3& e = lane(l).task->coupled[static_cast<std::size_t>(s)];
            for (std::size_t k = 0; k < 3; ++k)
                for (const Waveform* w : {&e.emf[k], &e.current[k]})
                    if (w->shape != Waveform::Shape::none && !w->steady(net.frequency_hz) &&
                        (special_.empty() || special_.back().element != &e))
                        special_.push_back({s, l, &e});
        }
    }
}

}  // namespace emt
