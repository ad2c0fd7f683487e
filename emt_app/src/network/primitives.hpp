// What every element is lowered to before it is solved.
//
// The solver knows nothing of elements, only of these few primitives. Each of them is a trapezoidal Norton companion
//     i_n = g·u_n + h_n,      h_{n+1} = a·u_n + b·h_n,
// with u the voltage across it: `a`, `b` for a trapezoidal step and `a_be`, `b_be` for a backward Euler step of half
// the length, which has the same conductance g (Martí and Lin, "Suppression of numerical oscillations in the EMTP",
// IEEE Trans. Power Systems 4(2), 1989). Because the discrete operators are explicit here, the phasor solution that
// starts a run (network/phasor.cpp) can use them exactly: H = a·U/(z - b) with z = exp(jωΔt).
//
// Nodes are global numbers; kGround is the reference. Units are SI.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "network/waveform.hpp"

namespace emt {

inline constexpr int kGround = -1;
using Mat3 = std::array<double, 9>;  // row-major 3 × 3

struct Companion {  // the update of one history current
    double a = 0, b = 0, a_be = 0, b_be = 0;
};

struct Conductance {
    int p, q;
    double g;  // S
};

/// Pure inductance or capacitance; parallel ones merge. For an inductor g = Δt/2L, for a capacitor g = 2C/Δt.
struct Reactive {
    int p, q;
    double g;         // S
    bool capacitive;
    double i0 = 0;    // inductor: initial current, A (zero start only)
};

/// Series RL or RC.
struct Branch {
    int p, q;
    double g;
    Companion c;
    double i0 = 0;
};

/// Series RLC: i = g(u + y1 - y2), with y1 the inductor's and y2 the capacitor's history voltage.
struct SeriesRlc {
    int p, q;
    double g;
    double zl, zc;  // 2L/Δt and Δt/2C, ohm
};

/// Three coupled branches p→q with EMF e (V) and an injected current (A) into p, out of q:
/// i = G(u - e) + h, h' = A(u - e) + B·h.
struct Coupled3 {
    std::array<int, 3> p, q;
    Mat3 g{}, a{}, b{}, a_be{}, b_be{};
    std::array<Waveform, 3> emf{};
    std::array<Waveform, 3> current{};
};

/// Three ideal two-winding units, each in series with its leakage:
/// u_k = (P_k - m1·P_{k+1}) - n·(S_k - m2·S_{k+1}), where m = 1 for a delta winding.
struct Transformer3 {
    std::array<int, 3> p, s;
    double g;
    Companion c;
    double ratio;   // turns of the primary winding per turn of the secondary
    double m1, m2;
};

struct LineMode {
    double z;          // surge impedance, ohm
    double r;          // total series resistance, ohm
    int delay;         // d, whole steps
    double fraction;   // w, of a step; waves are interpolated (1 - w)·b_n + w·b_{n-1}
    [[nodiscard]] double y() const { return 1 / (z + r / 4); }
    [[nodiscard]] double c_far() const { return z * y() * y(); }
    [[nodiscard]] double c_near() const { return r / 4 * y() * y(); }
};

/// Transposed three-phase Bergeron line; mode[0] is zero sequence, mode[1] serves α and β.
struct Line {
    std::array<std::array<int, 3>, 2> end;
    std::array<LineMode, 2> mode;
};

/// Odd piecewise-linear characteristic i(x): x is the voltage (resistor) or the flux (inductor).
struct Piecewise {
    int p, q;
    bool inductive;
    std::vector<double> x, i;  // break points, from (0,0) upwards; the last slope goes on
};

struct Switch {
    int p, q;
    double g_on, g_off;   // S
    bool closed;          // at the start
    bool at_current_zero; // opens at the first current zero after the time
    std::vector<std::pair<double, bool>> operations;  // time in s, closed after it; ascending
    std::string name;
};

/// First-order low-pass of the squared voltage: the square of an r.m.s. meter.
struct Meter {
    int p, q;
    double g;
    Companion c;
};

}  // namespace emt
