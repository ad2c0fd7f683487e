// Inductor, with an optional series resistance: u = R·i + L·di/dt. One phase or three equal ones.
// The trapezoidal companion of a pure inductance is g = Δt/2L, h' = h + 2g·u (Dommel 1969).
#include "elements/element.hpp"

namespace emt {
namespace {
class Inductor final : public Element {
public:
    explicit Inductor(Reader& in)
        : ends_(in.terminals()),
          l_(in.number("l", Range::positive, "H")),
          r_(in.number("r", Range::not_negative, "in series, ohm", 0)),
          i0_(in.initial("i0", "initial current, A")) {}
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_) {
            if (r_ == 0) {
                net.reactives.push_back({ends, net.dt_s / (2 * l_), false, i0_});
            } else {
                const auto [g, c] = companion_rl(r_, l_, net.dt_s);
                net.branches.push_back({ends, g, c, i0_});
            }
        }
        const auto [by, size] = r_ == 0 ? std::pair(Carried::By::reactance, net.reactives.size()) : std::pair(Carried::By::branch, net.branches.size());
        net.channels.add_branches(by, size, ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    double l_, r_, i0_;  // H, ohm, A
};
}  // namespace
ElementType inductor_element() { return {"inductor", make<Inductor>}; }
}  // namespace emt
