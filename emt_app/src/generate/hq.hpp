// Synthetic network with the size and composition of the Hydro-Québec system of the IPST 2023 paper (Table I).
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace emt {
enum class HqModel {
    full,     // machines with shafts, exciters, stabilizers and governors
    network,  // constant EMFs behind impedances in place of the machines
};

/// Returns a case of `scale` copies; one copy has exactly the counts of Table I in 172 tasks. At `fault_bus`, unless it
/// is empty, the three phases are shorted to ground from 1 s to 1.1 s.
[[nodiscard]] nlohmann::ordered_json generate_hq(int scale, std::uint64_t seed, HqModel model = HqModel::full, const std::string& fault_bus = "");
}  // namespace emt
