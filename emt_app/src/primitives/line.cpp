#include "primitives/line.hpp"

namespace emt {
namespace {

/// Voltages in the modes 0, α, β: orthonormal Clarke transformation.
std::array<Complex, 3> to_modes(const Nodes3& node, std::span<const Complex> phasors) {
    constexpr double k0 = 0.57735026918962576451, k1 = 0.81649658092772603273, k2 = 0.70710678118654752440;
    const auto v = [&](std::size_t k) { return phasors[static_cast<std::size_t>(node[k])]; };
    const Complex a = v(0), b = v(1), c = v(2);
    return {k0 * (a + b + c), k1 * (a - 0.5 * (b + c)), k2 * (b - c)};
}

/// Rows 0, α, β of the transformation; columns are the phases.
constexpr double kClarke[3][3] = {{0.57735026918962576451, 0.57735026918962576451, 0.57735026918962576451},
                                  {0.81649658092772603273, -0.40824829046386301637, -0.40824829046386301637},
                                  {0, 0.70710678118654752440, -0.70710678118654752440}};

double mode_voltage(const LaneNow& now, const Nodes3& node, int mode) {
    double v = 0;
    for (std::size_t k = 0; k < 3; ++k) v += kClarke[mode][k] * now.voltage(node[k]);
    return v;
}

LineModePhasors mode_phasors(const LineMode& mode, Complex z, Complex vk, Complex vm) {
    // Sum and difference of the ends decouple: H± = ∓-like scalar equations with the delayed wave D·(α·V + β·H).
    const Complex interpolation = (1 - mode.fraction) + mode.fraction / z;
    const Complex delay = power(std::conj(z), mode.delay) * interpolation;
    const double beta = mode.z - mode.r / 4, alpha = 1 + beta * mode.y();
    const double sum = mode.c_far() + mode.c_near(), difference = mode.c_near() - mode.c_far();
    const auto history = [&](double c, Complex v) { return -delay * c * alpha * v / (1.0 + delay * c * beta); };
    const Complex hs = history(sum, vk + vm), hd = history(difference, vk - vm);
    LineModePhasors out;
    out.history = {(hs + hd) / 2.0, (hs - hd) / 2.0};
    const std::array<Complex, 2> v{vk, vm};
    for (std::size_t e = 0; e < 2; ++e) {
        out.wave[e] = alpha * v[e] + beta * out.history[e];
        out.sent[e] = interpolation * out.wave[e];
    }
    return out;
}

}  // namespace

std::array<LineModePhasors, 3> line_phasors(const Line& line, Complex z, std::span<const Complex> phasors) {
    const std::array<Complex, 3> k = to_modes(line.end[0], phasors), m = to_modes(line.end[1], phasors);
    std::array<LineModePhasors, 3> out;
    for (std::size_t i = 0; i < 3; ++i) out[i] = mode_phasors(line.mode[i == 0 ? 0 : 1], z, k[i], m[i]);
    return out;
}

void Line::stamp_phasor(PhasorEquations& y) const {
    std::array<Complex, 2> self, mutual;  // of each mode: I_k = self·V_k + mutual·V_m
    for (std::size_t k = 0; k < 2; ++k) {
        const LineModePhasors one = mode_phasors(mode[k], y.z, 1, 0);
        self[k] = mode[k].y() + one.history[0];
        mutual[k] = one.history[1];
    }
    for (std::size_t e = 0; e < 2; ++e)
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                // Tᵀ·diag(y0, y1, y1)·T
                const auto phase = [&](const std::array<Complex, 2>& modes) {
                    return i == j ? (modes[0] + 2.0 * modes[1]) / 3.0 : (modes[0] - modes[1]) / 3.0;
                };
                y.entry(end[e][i], end[e][j], phase(self));
                y.entry(end[e][i], end[1 - e][j], phase(mutual));
            }
}

void LineEnd::start(const LaneStart& lane, const Rows& rows, int slot) const {
    for (int k = 0; k < 2; ++k) {
        const LineMode& mode = of.mode[static_cast<std::size_t>(k)];
        lane.at(rows.y, 2 * slot + k) = mode.y();
        lane.at(rows.beta, 2 * slot + k) = mode.z - mode.r / 4;
        lane.at(rows.fraction, 2 * slot + k) = mode.fraction;
    }
    if (!lane.steady()) return;
    const auto modes = line_phasors(of, lane.z, lane.phasors);
    const auto e = static_cast<std::size_t>(end);
    for (std::size_t k = 0; k < 3; ++k) {
        const int row = 3 * slot + static_cast<int>(k);
        lane.at(rows.history, row) = modes[k].history[e].real();
        lane.at(rows.wave, row) = modes[k].sent[e].real();
        lane.at(rows.previous, row) = modes[k].wave[e].real();
    }
}

double LineEnd::wave_of_voltages(const LaneNow& now, const Rows& rows, int slot, int mode) const {
    const int sequence = 2 * slot + (mode == 0 ? 0 : 1);
    return (1 + now.at(rows.beta, sequence) * now.at(rows.y, sequence)) * mode_voltage(now, node, mode);
}

double LineEnd::carried(const LaneNow& now, const Rows& rows, int slot, int phase) const {
    double sum = 0;
    for (int m = 0; m < 3; ++m) {
        const double v = mode_voltage(now, node, m);
        sum += kClarke[m][phase] * (now.at(rows.y, 2 * slot + (m == 0 ? 0 : 1)) * v + now.at(rows.history, 3 * slot + m));
    }
    return sum;
}

}  // namespace emt
