// Arrester or other resistive element with an odd, ascending piecewise-linear characteristic, points [V, A].
#include "elements/element.hpp"

namespace emt {
namespace {
class Arrester final : public Element {
public:
    explicit Arrester(Reader& in) : ends_(in.terminals()) { in.curve("curve", "[V, A]", v_, i_); }
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_) net.piecewise.push_back({ends, false, v_, i_});
        net.channels.add_branches(Carried::By::piecewise, net.piecewise.size(), ends_.size());
        net.channels.add("energy", Channel::Quantity::energy, Carried::By::piecewise, net.piecewise.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.nonlinear = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    std::vector<double> v_, i_;
};
}  // namespace
ElementType arrester_element() { return {"arrester", make<Arrester>}; }
}  // namespace emt
