// Machines of the reference network with their shaft, exciter, stabilizer and governor.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "generate/stations.hpp"

namespace emt {

enum class Turbine { hydro, steam, gas, none };

struct Plant {
    std::string name, bus;
    std::size_t station;
    Turbine turbine;
    double mva, kv;       // rating
    double v;             // per unit
    bool slack;           // holds its angle and delivers the remaining power
    double mw = 0;        // unless `slack`
};

inline constexpr int kControllers = 3;  // of a plant with a turbine; one of a condenser

/// Returns the machine and its controllers. Draws random numbers.
[[nodiscard]] std::vector<nlohmann::ordered_json> plant_elements(const Plant& plant, Random& random);

}  // namespace emt
