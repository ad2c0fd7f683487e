// Machines of the reference network with all that belongs to them: shaft, exciter, stabilizer, governor.
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
    bool slack;           // holds its angle and delivers what the others do not
    double mw = 0;        // of the others
};

inline constexpr int kControllers = 3;  // of a plant with a turbine; one of a condenser

/// The machine and its controllers. Uses up random numbers.
[[nodiscard]] std::vector<nlohmann::ordered_json> plant_elements(const Plant& plant, Random& random);

}  // namespace emt
