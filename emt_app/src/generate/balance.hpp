// Dispatch of a generated case after a look at its power flow.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {

/// What the first machine, which holds its angle, delivers beyond `loading` of its rating is divided among those with "p", in
/// proportion to what they have left; voltages are lowered where much reactive power is delivered, raised where it is absorbed. All
/// then have the angles of the power flow as a first guess.
void balance(nlohmann::ordered_json& hq_case, double loading);

/// The first machine, which holds its angle, delivers `loading` of its rating instead.
void release(nlohmann::ordered_json& hq_case, double loading);

}  // namespace emt
