// Capacitor, with an optional series resistance: u = R·i + ∫i/C. One phase or three equal ones.
// The trapezoidal companion of a pure capacitance is g = 2C/Δt, h' = -h - 2g·u (Dommel 1969).
#include "elements/all.hpp"
#include "network/companion.hpp"

namespace emt {
namespace {
class Capacitor final : public Element {
public:
    explicit Capacitor(Reader& in)
        : ends_(in.terminals()),
          c_(in.number("c", Reader::Range::positive)),
          r_(in.number("r", Reader::Range::not_negative, 0)) {}
    void lower(Network& net, Reporter&) const override {
        for (const auto& [p, q] : ends_) {
            if (r_ == 0) {
                net.reactives.push_back({p, q, 2 * c_ / net.dt_s, true, 0});
            } else {
                const auto [g, c] = companion_rc(r_, c_, net.dt_s);
                net.branches.push_back({p, q, g, c, 0});
            }
        }
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    double c_, r_;  // F, ohm
};
}  // namespace
std::unique_ptr<Element> make_capacitor(Reader& in) { return std::make_unique<Capacitor>(in); }
}  // namespace emt
