// The plot of `emt scale`: speed-up, efficiency, Karp–Flatt and κ′ over ranks, as in figures 4 to 8 of the paper.
#pragma once
#include <nlohmann/json.hpp>

#include <string>

namespace emt {
/// Returns the SVG text of a scaling result.
[[nodiscard]] std::string scaling_plot(const nlohmann::json& scaling);
}  // namespace emt
