// The JSON Schema of cases, put together from what the elements say of their keys.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {
[[nodiscard]] nlohmann::ordered_json case_schema();
}  // namespace emt
