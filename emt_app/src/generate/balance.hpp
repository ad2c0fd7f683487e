// Dispatch of a generated case after a look at its power flow.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {

/// What the first machine of a copy, which holds its angle, delivers beyond `loading` of its rating is divided among those of the copy
/// with "p" (and of copies after it whose first machine is released), in proportion to what they have left; voltages are lowered
/// where much reactive power is delivered, raised where it is absorbed. All then have the angles of the power flow as a first guess.
/// Repeated `passes` times; voltages go `relaxation` of the way: less than all of it keeps neighbours from pushing each other up and down.
void balance(nlohmann::ordered_json& hq_case, double loading, int passes, double relaxation);

/// The first machines of all copies but one deliver from now on what they deliver while they hold their angles.
void release(nlohmann::ordered_json& hq_case);

/// Turns the angles of all machines.
void turn(nlohmann::ordered_json& hq_case, double degrees);

}  // namespace emt
