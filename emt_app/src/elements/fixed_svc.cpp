// Stand-in of a static var compensator (the full model is "svc"): the TCR reactor and the TSC capacitor at a fixed
// operating point, in star to ground. It has no firing and no regulator.
#include "elements/element.hpp"

namespace emt {
namespace {
class FixedSvc final : public Element {
public:
    explicit FixedSvc(Reader& in)
        : bus_(in.bus("bus")),
          l_(in.number("l", Range::positive, "per phase, H")),
          c_(in.number("c", Range::positive, "per phase, F")) {}
    void lower(Network& net, Reporter&) const override {
        for (const int p : bus_) {
            net.reactives.push_back({{p, kGround}, net.dt_s / (2 * l_), false, 0});
            net.reactives.push_back({{p, kGround}, 2 * c_ / net.dt_s, true, 0});
        }
        for (std::size_t k = 0; k < 3; ++k) {
            const std::size_t reactor = net.reactives.size() - 6 + 2 * k;
            net.channels.add(k, 3, "i", Channel::Quantity::current, {{Carried::By::reactance, reactor}, {Carried::By::reactance, reactor + 1}});
        }
    }
    [[nodiscard]] Census census() const override { return {.svcs = 1}; }
    [[nodiscard]] std::string simplified() const override { return "fixed susceptance, no thyristors, no regulator"; }

private:
    Nodes3 bus_;
    double l_, c_;  // H, F per phase
};
}  // namespace
ElementType fixed_svc_element() { return {"fixed_svc", make<FixedSvc>}; }
}  // namespace emt
