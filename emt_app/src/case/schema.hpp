// The JSON Schema of cases, composed of the keys that the elements read.
#pragma once
#include "elements/description.hpp"

namespace emt {
[[nodiscard]] Schema case_schema();
}  // namespace emt
