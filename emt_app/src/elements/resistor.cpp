// Resistor: i = u/R. One phase or three equal ones.
#include "elements/element.hpp"

namespace emt {
namespace {
class Resistor final : public Element {
public:
    explicit Resistor(Reader& in) : ends_(in.terminals()), r_(in.number("r", Range::positive, "ohm")) {}
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_) net.conductances.push_back({ends, 1 / r_});
        net.channels.add_branches(Carried::By::conductance, net.conductances.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    double r_;  // ohm
};
}  // namespace
ElementType resistor_element() { return {"resistor", make<Resistor>}; }
}  // namespace emt
