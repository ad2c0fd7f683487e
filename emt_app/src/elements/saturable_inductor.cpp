// Inductor with an odd, ascending piecewise-linear flux–current characteristic, points [Wb, A].
#include "elements/element.hpp"

namespace emt {
namespace {
class SaturableInductor final : public Element {
public:
    explicit SaturableInductor(Reader& in) : ends_(in.terminals()) { in.curve("curve", flux_, i_); }
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_) net.piecewise.push_back({ends, true, flux_, i_});
        for (const auto& [what, quantity] : {std::pair("i", Channel::Quantity::current), std::pair("flux", Channel::Quantity::flux)})
            net.channels.add(what, quantity, Carried::By::piecewise, net.piecewise.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.nonlinear = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    std::vector<double> flux_, i_;
};
}  // namespace
ElementType saturable_inductor_element() {
    return {"saturable_inductor", make<SaturableInductor>, R"({"allOf": [{"$ref": "#/$defs/terminals"}], "required": ["curve"], "properties": {
        "curve": {"$ref": "#/$defs/curve"}}})"};
}
}  // namespace emt
