// Inductor, with an optional series resistance: u = R·i + L·di/dt. One phase or three equal ones.
// The trapezoidal companion of a pure inductance is g = Δt/2L, h' = h + 2g·u (Dommel 1969).
#include "elements/all.hpp"
#include "network/companion.hpp"

namespace emt {
namespace {
class Inductor final : public Element {
public:
    explicit Inductor(Reader& in)
        : ends_(in.terminals()),
          l_(in.number("l", Reader::Range::positive)),
          r_(in.number("r", Reader::Range::not_negative, 0)),
          i0_(in.initial("i0")) {}
    void lower(Network& net, Reporter&) const override {
        for (const auto& [p, q] : ends_) {
            if (r_ == 0) {
                net.reactives.push_back({p, q, net.dt_s / (2 * l_), false, i0_});
            } else {
                const auto [g, c] = companion_rl(r_, l_, net.dt_s);
                net.branches.push_back({p, q, g, c, i0_});
            }
        }
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    double l_, r_, i0_;  // H, ohm, A
};
}  // namespace
std::unique_ptr<Element> make_inductor(Reader& in) { return std::make_unique<Inductor>(in); }
}  // namespace emt
