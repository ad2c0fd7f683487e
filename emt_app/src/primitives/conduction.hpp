// A reactor behind thyristors, which conducts for a part of each half cycle.
#pragma once
#include <cmath>
#include <numbers>

#include "base/elementary.hpp"
#include "primitives/admittances.hpp"

namespace emt {

/// Fired at the angle α after each zero of the voltage, a reactor conducts for σ = 2(π - α) around each peak of its current's
/// fundamental, from which a steady start takes the current at t = 0 (L. Gyugyi 1979; T. J. E. Miller, Reactive Power Control in
/// Electric Systems, 1982, ch. 4): with V/X the peak in full conduction and ψ the phase of the fundamental,
///   I₁ = V/X·(σ - sin σ)/π,   |i| = V/X·(|cos ψ| - cos(σ/2)) where that is positive, else 0.
struct Conduction {
    double part = 1;  // of the fundamental in full conduction: (σ - sin σ)/π
    double edge = 0;  // cos(σ/2)

    [[nodiscard]] static Conduction fired_at(double alpha_degrees) {
        const CosSin<double> at = cos_sin(alpha_degrees / 360);
        return {2 - alpha_degrees / 90 + 2 / std::numbers::pi * at.cos * at.sin, -at.cos};
    }
    [[nodiscard]] bool partial() const { return part < 1; }
    /// Returns the current at t = 0 from the fundamental's phasor.
    [[nodiscard]] double current(Complex fundamental) const {
        const double i = fundamental.real() / part, edge_now = edge * std::sqrt(std::norm(fundamental)) / part;
        return i > edge_now ? i - edge_now : i < -edge_now ? i + edge_now : 0;
    }
};

}  // namespace emt
