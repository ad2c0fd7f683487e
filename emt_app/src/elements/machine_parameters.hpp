// Circuits of a synchronous machine's rotor from its standard parameters.
#pragma once
#include <optional>

#include "primitives/primitives.hpp"

namespace emt {

/// One axis: reactances per unit, open-circuit time constants in s. With one winding, transient values do not exist.
struct AxisParameters {
    double x, x1, x2;  // synchronous, transient, subtransient
    double t1, t2;     // transient, subtransient
    bool transient;
};

enum class Conversion {
    exact,      // the circuit's operational inductance has these parameters (I. M. Canay, Proc. IEE 130 B(4), 1983)
    classical,  // transient parameters without the damper, time constants without faster windings (P. Kundur, Power
                // System Stability and Control, 1994, section 4.2), as in the models GENROU and GENSAL
};

/// Returns nothing if no circuit with positive resistances has the parameters. `omega` in rad/s, `xl` per unit.
[[nodiscard]] std::optional<RotorAxis> rotor_circuit(const AxisParameters& axis, double xl, double omega, Conversion conversion);

/// Returns S(ψ) = B·(ψ - A)²/ψ from S(1.0) and S(1.2); nothing if no such curve has them.
[[nodiscard]] std::optional<Saturation> saturation_curve(double s10, double s12);

}  // namespace emt
