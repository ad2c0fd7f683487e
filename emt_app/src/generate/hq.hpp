// Synthetic network with the size and the make-up of the Hydro-Québec system of the IPST 2023 paper (Table I).
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>

namespace emt {
/// A case of `scale` copies; one copy has exactly the counts of Table I in 172 tasks.
[[nodiscard]] nlohmann::ordered_json generate_hq(int scale, std::uint64_t seed);
}  // namespace emt
