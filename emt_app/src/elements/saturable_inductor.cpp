// Inductor with an odd, ascending piecewise-linear flux–current characteristic, points [Wb, A]. "flux" is the flux
// linkage at t = 0.
#include "elements/element.hpp"

namespace emt {
namespace {
class SaturableInductor final : public Element {
public:
    explicit SaturableInductor(Reader& in) : ends_(in.terminals()), flux0_(in.initial("flux", "linkage at t = 0, Wb", ends_.size())) { in.curve("curve", "[Wb, A]", flux_, i_); }
    void lower(Network& net, Reporter&) const override {
        for (std::size_t k = 0; k < ends_.size(); ++k) net.piecewise.push_back({ends_[k], true, flux_, i_, flux0_[k]});
        net.channels.add_branches(Carried::By::piecewise, net.piecewise.size(), ends_.size());
        net.channels.add("flux", Channel::Quantity::flux, Carried::By::piecewise, net.piecewise.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.nonlinear = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    std::vector<double> flux0_, flux_, i_;  // Wb at t = 0 of each phase; curve, Wb and A
};
}  // namespace
ElementType saturable_inductor_element() { return {"saturable_inductor", make<SaturableInductor>}; }
}  // namespace emt
