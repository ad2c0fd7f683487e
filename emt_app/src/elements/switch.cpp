// Switch, one phase or the three poles of a breaker, with timed operations; each pole counts as one switch.
// Closed, it is the resistance "r_on"; open, it is "r_off" (nothing if left out). With "current_zero", a pole opens
// after its order when its current becomes zero, inside a step (parallel/engine_instants.cpp). Operations between two
// steps also act inside a step. The step after an operation is taken as two half steps of backward Euler
// (parallel/engine.cpp).
#include "elements/element.hpp"

namespace emt {
namespace {
class SwitchElement final : public Element {
public:
    explicit SwitchElement(Reader& in)
        : name_(in.name()),
          ends_(in.terminals()),
          r_on_(in.number("r_on", Range::positive, "closed, ohm", 1e-3)),
          r_off_(in.optional("r_off", Range::positive, "open, ohm; none, if left out").value_or(0)),
          closed_(in.flag("closed", "at t = 0")),
          zero_(in.flag("current_zero", "opens only when its current becomes zero")),
          operations_(in.operations("operations")) {}
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_)
            net.switches.push_back({ends, 1 / r_on_, r_off_ > 0 ? 1 / r_off_ : 0, closed_, zero_, operations_, name_});
        net.channels.add_branches(Carried::By::pole, net.switches.size(), ends_.size());
        net.channels.add("state", Channel::Quantity::state, Carried::By::pole, net.switches.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.switches = static_cast<long>(ends_.size())}; }

private:
    std::string name_;
    std::vector<Nodes2> ends_;
    double r_on_, r_off_;  // ohm
    bool closed_, zero_;
    std::vector<std::pair<double, bool>> operations_;
};
}  // namespace
ElementType switch_element() { return {"switch", make<SwitchElement>}; }
}  // namespace emt
