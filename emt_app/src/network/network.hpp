// The lowered network of a whole case: its nodes and primitives.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "network/channels.hpp"
#include "network/signals.hpp"
#include "primitives/primitives.hpp"

namespace emt {

struct Network : Primitives {
    double dt_s = 0;
    double frequency_hz = 0;
    bool steady_start = false;
    std::vector<std::string> node_names;
    std::unordered_map<int, double> initial_voltage;  // V, zero start only

    std::vector<Reactive> reactives;
    std::vector<Line> lines;
    Signals signals;
    std::unordered_map<std::string, std::string> machine_of;  // by the names of controllers
    Channels channels;

    [[nodiscard]] int nodes() const { return static_cast<int>(node_names.size()); }
    /// Adds a node inside an element.
    int add_node(std::string name) {
        node_names.push_back(std::move(name));
        return nodes() - 1;
    }
};

}  // namespace emt
