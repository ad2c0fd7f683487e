// Sinusoidal steady state of the discrete network.
//
// With every signal X·z^n, z = exp(jωΔt), a companion i = g·u + h, h' = a·u + b·h has the admittance g + a/(z - b):
// exactly that of the time stepping, so a run started from it stays in steady state to rounding. Switches are as at the
// start and piecewise elements on the segment through the origin.
#pragma once
#include <complex>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

using Complex = std::complex<double>;

/// z = exp(jωΔt) of the case.
[[nodiscard]] Complex step_operator(const Network& net);
/// Peak phasor of each node's voltage, V. Throws std::runtime_error when the admittance matrix is singular.
[[nodiscard]] std::vector<Complex> solve_phasors(const Network& net);

/// Wave and history phasors of one mode of a line, given the modal voltages of its ends.
struct LineModePhasors {
    std::array<Complex, 2> history;  // I_k of v·y + I
    std::array<Complex, 2> wave;     // b = v + (Z - R/4)·i
    std::array<Complex, 2> sent;     // interpolated wave
};
[[nodiscard]] LineModePhasors line_mode_phasors(const LineMode& mode, Complex z, Complex vk, Complex vm);
/// Voltages in the modes 0, α, β: orthonormal Clarke transformation.
template <class T>
std::array<T, 3> to_modes(const T& a, const T& b, const T& c) {
    constexpr double k0 = 0.57735026918962576451, k1 = 0.81649658092772603273, k2 = 0.70710678118654752440;
    return {k0 * (a + b + c), k1 * (a - 0.5 * (b + c)), k2 * (b - c)};
}

}  // namespace emt
