// Series RLC branch, such as one arm of a tuned filter: u = R·i + L·di/dt + ∫i/C. Counts as one RLC element per phase.
// With zl = 2L/Δt and zc = Δt/2C the companion is i = (u + y1 - y2)/(R + zl + zc); y1, y2 are the histories of L and C.
#include "elements/element.hpp"

namespace emt {
namespace {
class SeriesRlcElement final : public Element {
public:
    explicit SeriesRlcElement(Reader& in)
        : ends_(in.terminals()),
          r_(in.number("r", Range::not_negative, "ohm")),
          l_(in.number("l", Range::positive, "H")),
          c_(in.number("c", Range::positive, "F")) {}
    void lower(Network& net, Reporter&) const override {
        const double zl = 2 * l_ / net.dt_s, zc = net.dt_s / (2 * c_);
        for (const Nodes2& ends : ends_) net.rlcs.push_back({ends, 1 / (r_ + zl + zc), zl, zc});
        net.channels.add_branches(Carried::By::rlc, net.rlcs.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    double r_, l_, c_;  // ohm, H, F
};
}  // namespace
ElementType series_rlc_element() { return {"series_rlc", make<SeriesRlcElement>}; }
}  // namespace emt
