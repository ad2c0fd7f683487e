// Series RLC branch, such as one arm of a tuned filter: u = R·i + L·di/dt + ∫i/C. Counts as one RLC element per phase.
// With zl = 2L/Δt and zc = Δt/2C the companion is i = (u + y1 - y2)/(R + zl + zc); y1, y2 are the histories of L and C.
#include "elements/all.hpp"

namespace emt {
namespace {
class SeriesRlcElement final : public Element {
public:
    explicit SeriesRlcElement(Reader& in)
        : ends_(in.terminals()),
          r_(in.number("r", Reader::Range::not_negative)),
          l_(in.number("l", Reader::Range::positive)),
          c_(in.number("c", Reader::Range::positive)) {}
    void lower(Network& net, Reporter&) const override {
        const double zl = 2 * l_ / net.dt_s, zc = net.dt_s / (2 * c_);
        for (const auto& [p, q] : ends_) net.rlcs.push_back({p, q, 1 / (r_ + zl + zc), zl, zc});
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    double r_, l_, c_;  // ohm, H, F
};
}  // namespace
std::unique_ptr<Element> make_series_rlc(Reader& in) { return std::make_unique<SeriesRlcElement>(in); }
}  // namespace emt
