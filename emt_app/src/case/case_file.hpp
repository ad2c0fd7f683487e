// A case: the study's settings and its elements, read from the JSON format that case/schema.cpp describes.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/diagnostics.hpp"
#include "elements/element.hpp"

namespace emt {

inline constexpr int kCaseVersion = 1;
inline constexpr const char* kCaseFormat = "kappa-emt-case";

struct Case {
    std::string title;
    Network network;                               // lowered
    Census census;
    std::map<std::string, std::string> simplified; // element type → what stands in for its full model
    std::uint64_t hash = 0;                        // FNV-1a of the file's bytes
};

/// Reads and checks a case file. Throws CaseError with every problem found; for unreadable or malformed files, with
/// file and place. `dt_s` > 0 overrides the file's step; `channels`: list elements' channels (network/channels.hpp).
[[nodiscard]] Case load_case(const std::string& path, double dt_s = 0, bool channels = false);
/// Does the same for text; `origin` appears in messages.
[[nodiscard]] Case parse_case(const std::string& text, const std::string& origin, double dt_s = 0, bool channels = false);

}  // namespace emt
