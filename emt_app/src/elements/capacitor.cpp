// Capacitor, with an optional series resistance: u = R·i + ∫i/C. One phase or three equal ones.
// The trapezoidal companion of a pure capacitance is g = 2C/Δt, h' = -h - 2g·u (Dommel 1969).
#include "elements/element.hpp"

namespace emt {
namespace {
class Capacitor final : public Element {
public:
    explicit Capacitor(Reader& in)
        : ends_(in.terminals()),
          c_(in.number("c", Range::positive, "F")),
          r_(in.number("r", Range::not_negative, "in series, ohm", 0)) {}
    void lower(Network& net, Reporter&) const override {
        for (const Nodes2& ends : ends_) {
            if (r_ == 0) {
                net.reactives.push_back({ends, 2 * c_ / net.dt_s, true, 0});
            } else {
                const auto [g, c] = companion_rc(r_, c_, net.dt_s);
                net.branches.push_back({ends, g, c, 0});
            }
        }
        const auto [by, size] = r_ == 0 ? std::pair(Carried::By::reactance, net.reactives.size()) : std::pair(Carried::By::branch, net.branches.size());
        net.channels.add_branches(by, size, ends_.size());
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<Nodes2> ends_;
    double c_, r_;  // F, ohm
};
}  // namespace
ElementType capacitor_element() { return {"capacitor", make<Capacitor>}; }
}  // namespace emt
