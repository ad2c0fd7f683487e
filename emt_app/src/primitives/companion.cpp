#include "primitives/companion.hpp"

namespace emt {

std::pair<double, Companion> companion_rl(double r, double l, double dt) {
    const double z = 2 * l / dt;
    const double g = 1 / (r + z);
    if (l == 0) return {g, {}};
    return {g, {g + g * (z - r) * g, g * (z - r), g * z * g, g * z}};
}

std::pair<double, Companion> companion_rc(double r, double c, double dt) {
    const double z = dt / (2 * c);
    const double g = 1 / (r + z);
    return {g, {-g - g * (z - r) * g, -g * (z - r), -g + g * r * g, g * r}};
}

std::pair<double, Companion> companion_lag(double time_constant, double dt) {
    const double k = 2 * time_constant / dt;
    const double g = 1 / (k + 1);
    return {g, {g + g * g * (k - 1), g * (k - 1), g * k * g, g * k}};
}

}  // namespace emt
