// The result of a run for a person to read.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {
/// `result` is as in schema/result.schema.json.
void print_summary(const nlohmann::json& result);
}  // namespace emt
