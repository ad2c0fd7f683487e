// Typical parameters of synchronous machines, per unit of the rating and seconds: P. Kundur, Power System Stability and Control, 1994,
// table 4.2, hydraulic and thermal units.
#pragma once
#include <nlohmann/json.hpp>

namespace emt {

inline nlohmann::ordered_json salient_poles() {
    return {{"ra", 0.003}, {"xl", 0.15}, {"xd", 1.05}, {"xd1", 0.32}, {"xd2", 0.24}, {"xq", 0.68}, {"xq2", 0.26},
            {"td10", 7}, {"td20", 0.05}, {"tq20", 0.08}, {"s10", 0.1}, {"s12", 0.4}};
}

inline nlohmann::ordered_json round_rotor() {
    return {{"ra", 0.003}, {"xl", 0.15}, {"xd", 1.8}, {"xd1", 0.3}, {"xd2", 0.23}, {"xq", 1.7}, {"xq1", 0.55}, {"xq2", 0.25},
            {"td10", 8}, {"td20", 0.03}, {"tq10", 0.4}, {"tq20", 0.05}, {"s10", 0.1}, {"s12", 0.4}};
}

}  // namespace emt
