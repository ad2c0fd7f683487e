// Two-terminal DC lines of a PSS/E file as powers at their ends.
#pragma once
#include "import/psse_network.hpp"

namespace emt {

/// A line converter, and the power that it draws from its bus.
struct PsseConverter {
    double bridges;             // in series
    double reactance_ohm;       // of commutation, of a bridge
    double volt_kv;             // valve side, line to line, no load
    /// MW and MVAr drawn as a rectifier; an inverter draws -MW and the same MVAr. Not a number if this voltage is
    /// impossible.
    [[nodiscard]] GridPhasor power(double dc_kv, double dc_ka) const;
};

/// Adds the lines that are on: powers at the case's voltages and taps.
void read_psse_dc_lines(PsseNetwork& network);

}  // namespace emt
