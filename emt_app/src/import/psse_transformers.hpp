// Transformers of a PSS/E file as branches of the grid.
#pragma once
#include "import/psse_network.hpp"

namespace emt {

/// Adds the transformers that are on; three windings become three branches and a star bus. Adds magnetizing admittances
/// to the buses of the first windings.
void read_psse_transformers(PsseNetwork& network);

/// Returns the turns of a winding per unit of its bus's base voltage. CW 1: WINDV itself; 2: kV; 3: per unit of NOMV
/// (0: of the bus).
[[nodiscard]] double psse_turns(long cw, double windv, double nomv_kv, double base_kv);

/// Returns the impedance per unit of the system. CZ 1: R and X themselves; 2: per unit of `sbase_mva`; 3: R is the load
/// loss in W, X the magnitude per unit of `sbase_mva`, at least the resistance.
[[nodiscard]] GridPhasor psse_impedance(long cz, double r, double x, double sbase_mva, double system_mva);

/// Returns the admittance at the bus of the first winding, per unit of the system. CM 1: MAG1 and MAG2 themselves; 2:
/// the no-load loss in W, and the exciting current per unit of `sbase_mva` and NOMV1, at least the current of the loss.
[[nodiscard]] GridPhasor psse_magnetizing(long cm, double mag1, double mag2, double sbase_mva, double nomv_kv, double base_kv, double system_mva);

}  // namespace emt
