// Figures as JSON that people can read and that has no endless lines.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace sweep {

// With six significant digits; no measurement here holds more.
inline double rounded(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return std::strtod(text.data(), nullptr);
}

// The object with a line for each key, and for each entry of the lists named in `lists`.
inline std::string in_lines(const nlohmann::json& document, const std::set<std::string>& lists) {
    std::string text = "{";
    for (const auto& [key, value] : document.items()) {
        text += (text.size() > 1 ? ",\n" : "\n") + nlohmann::json(key).dump() + ": ";
        if (!lists.contains(key)) {
            text += value.dump();
            continue;
        }
        text += "[";
        for (std::size_t i = 0; i < value.size(); ++i) {
            text += (i > 0 ? ",\n  " : "\n  ") + value[i].dump();
        }
        text += "]";
    }
    return text + "\n}\n";
}

}  // namespace sweep
