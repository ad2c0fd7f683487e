// A measurement of the network as the signal with the element's name: the voltage between two nodes at each instant, or
// the magnitude of a bus voltage (the peak of its positive sequence) behind a lag. In units of "base", V.
#include "elements/element.hpp"

namespace emt {
namespace {
class Measurement final : public Element {
public:
    explicit Measurement(Reader& in)
        : name_(in.name()),
          of_bus_(in.choice("quantity", {"voltage", "magnitude"}, "of two nodes, or of a bus' positive sequence") == "magnitude"),
          scale_(1 / in.number("base", Range::positive, "V, peak", 1)) {
        if (of_bus_) {
            bus_ = in.bus("bus");
            time_constant_ = in.number("time_constant", Range::positive, "s", 1e-3);
        } else {
            ends_ = in.one_phase_terminals();
        }
    }
    void lower(Network& net, Reporter&) const override {
        const int signal = net.signals.make(name_, name_);
        if (of_bus_) {
            const auto [g, c] = companion_lag(time_constant_, net.dt_s);
            net.bus_magnitudes.push_back({{}, bus_, scale_, g, c, {signal}});
        } else {
            net.voltage_probes.push_back({{}, ends_, scale_, {signal}});
        }
    }
    [[nodiscard]] Census census() const override { return {.control = 1}; }

private:
    std::string name_;
    bool of_bus_;
    double scale_;                    // per V
    Nodes3 bus_{};
    double time_constant_ = 0;        // s
    Nodes2 ends_{};
};
}  // namespace
ElementType measurement_element() { return {"measurement", make<Measurement>}; }
}  // namespace emt
