// The summary of a run's result for its user.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {
/// `result` is as in schema/result.schema.json.
void print_summary(const nlohmann::json& result);
}  // namespace emt
