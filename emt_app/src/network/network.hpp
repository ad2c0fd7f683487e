// The lowered network: nodes and primitives of a whole case, and its division into tasks.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "network/primitives.hpp"

namespace emt {

struct Network {
    double dt_s = 0;
    double frequency_hz = 0;
    bool steady_start = false;
    std::vector<std::string> node_names;
    std::unordered_map<int, double> initial_voltage;  // V, zero start only

    std::vector<Conductance> conductances;
    std::vector<Reactive> reactives;
    std::vector<Branch> branches;
    std::vector<SeriesRlc> rlcs;
    std::vector<Coupled3> coupled;
    std::vector<Transformer3> transformers;
    std::vector<Piecewise> piecewise;
    std::vector<Switch> switches;
    std::vector<Meter> meters;
    std::vector<Line> lines;

    [[nodiscard]] int nodes() const { return static_cast<int>(node_names.size()); }
};

}  // namespace emt
