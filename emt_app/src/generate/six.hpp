// Numbers of generated cases.
#pragma once
#include <cmath>

namespace emt {

/// Rounds to six significant digits: the file stays readable and the same everywhere.
inline double six(double x) {
    if (x == 0) return 0;
    const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(x))));
    return std::round(x * scale) / scale;
}

}  // namespace emt
