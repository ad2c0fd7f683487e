// Data with which a primitive writes its coefficients and its state at t = 0 into one lane of a batch.
//
// A steady start sets every history to the real part of its phasor: H = a·U/(z - b) for a companion. A zero start sets
// the initial node voltages and inductor currents given by the case, and every other history so that its branch carries
// no current (or flux) at t = 0: h = -g·u. Its first step is a discontinuity.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/elementary.hpp"
#include "primitives/admittances.hpp"
#include "primitives/rows.hpp"

namespace emt {

/// Returns the element of row `row` of `rows` in a lane.
[[nodiscard]] inline double& cell(const double* rows, int row, int lane) {
    return const_cast<double*>(rows)[static_cast<std::ptrdiff_t>(row) * kLanes + lane];
}

/// The signals of a task at t = 0, by their numbers in the task: measured values, and values that driven elements
/// require in the steady state. The start of the blocks follows from both.
struct SignalStart {
    std::vector<std::optional<double>> published, required;
};

struct LaneStart {
    double dt_s, frequency_hz;
    Complex z;                           // exp(jωΔt)
    int lane;
    const double* v;                     // rows of the nodes' voltages at t = 0, V
    std::span<const int> global;         // number in the case of each of the task's nodes
    std::span<const Complex> phasors;    // of all nodes of the case, V, and then of the machines' currents, A; empty for a zero start
    int nodes;                           // of the case
    SignalStart& signals;

    [[nodiscard]] double& at(const double* rows, int row) const { return cell(rows, row, lane); }
    void step(const StepRows& rows, int row, double trapezoidal, double half_euler) const {
        at(rows[kTrapezoidal], row) = trapezoidal;
        at(rows[kHalfEuler], row) = half_euler;
    }
    [[nodiscard]] bool steady() const { return !phasors.empty(); }
    /// Returns the phasor of a node of the task.
    [[nodiscard]] Complex phasor(int node) const {
        return node == kGround || !steady() ? Complex{} : phasors[static_cast<std::size_t>(global[static_cast<std::size_t>(node)])];
    }
    [[nodiscard]] Complex phasor_across(int p, int q) const { return phasor(p) - phasor(q); }
    /// Returns the positive sequence of three phases' voltages.
    [[nodiscard]] Complex positive_sequence(const Nodes3& node) const {
        return (phasor(node[0]) + unit_phasor(1.0 / 3) * phasor(node[1]) + unit_phasor(-1.0 / 3) * phasor(node[2])) / 3.0;
    }
    /// Returns the phasor of the current that a machine delivers; `machine`: number in the case.
    [[nodiscard]] Complex current(int machine) const { return phasors[static_cast<std::size_t>(nodes + machine)]; }
    /// Returns the voltage at t = 0, V.
    [[nodiscard]] double initial(int node) const { return node == kGround ? 0.0 : at(v, node); }
    [[nodiscard]] double initial_across(int p, int q) const { return initial(p) - initial(q); }
    /// Sets a signal that the element makes; in a steady start, the mean value of an alternating signal.
    void publish(int signal, double value) const {
        if (signal != kNoSignal) signals.published[static_cast<std::size_t>(signal)] = value;
    }
    /// Requires the value of a signal that the element reads, for the steady state.
    void require(int signal, double value) const {
        if (signal != kNoSignal) signals.required[static_cast<std::size_t>(signal)] = value;
    }
};

}  // namespace emt
