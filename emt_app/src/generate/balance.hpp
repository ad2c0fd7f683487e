// Correction of a generated case's dispatch by its power flow.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {

/// The first machine of a copy holds its angle. Its power beyond `loading` of its rating is divided among the copy's
/// machines with "p" (and those of later copies whose first machine is released), in proportion to their reserves.
/// Voltages go down where machines deliver much reactive power, up where they absorb it; the power flow's angles become
/// the first guess. Repeats `passes` times; `relaxation` below 1 of each change of voltage prevents oscillation.
void balance(nlohmann::ordered_json& hq_case, double loading, int passes, double relaxation);

/// Gives the first machines of all copies but one a fixed power: their power while they hold their angles.
void release(nlohmann::ordered_json& hq_case);

/// Turns the angles of all machines.
void turn(nlohmann::ordered_json& hq_case, double degrees);

}  // namespace emt
