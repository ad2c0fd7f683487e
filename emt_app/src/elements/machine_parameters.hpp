// Circuits of a synchronous machine's rotor from its standard parameters.
#pragma once
#include <optional>

#include "primitives/primitives.hpp"

namespace emt {

/// One axis: reactances per unit, open-circuit time constants in s. With one winding there is nothing transient.
struct AxisParameters {
    double x, x1, x2;  // synchronous, transient, subtransient
    double t1, t2;     // transient, subtransient
    bool transient;
};

enum class Conversion {
    exact,      // the circuit's operational inductance has these parameters (I. M. Canay, Proc. IEE 130 B(4), 1983)
    classical,  // transient parameters as if the damper, time constants as if what is faster were not there (P. Kundur,
                // Power System Stability and Control, 1994, section 4.2), as in the models GENROU and GENSAL
};

/// Nothing when no circuit with positive resistances has them. `omega` in rad/s, `xl` per unit.
[[nodiscard]] std::optional<RotorAxis> rotor_circuit(const AxisParameters& axis, double xl, double omega, Conversion conversion);

/// From S(1.0) and S(1.2): S(ψ) = B·(ψ - A)²/ψ. Nothing when no such curve has them.
[[nodiscard]] std::optional<Saturation> saturation_curve(double s10, double s12);

}  // namespace emt
