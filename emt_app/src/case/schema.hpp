// The JSON Schema of cases, put together from what the elements ask for.
#pragma once
#include "elements/description.hpp"

namespace emt {
[[nodiscard]] Schema case_schema();
}  // namespace emt
