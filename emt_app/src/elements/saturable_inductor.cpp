// Inductor with an odd, ascending piecewise-linear flux–current characteristic, points [Wb, A].
#include "elements/all.hpp"

namespace emt {
namespace {
class SaturableInductor final : public Element {
public:
    explicit SaturableInductor(Reader& in) : ends_(in.terminals()) { in.curve("curve", flux_, i_); }
    void lower(Network& net, Reporter&) const override {
        for (const auto& [p, q] : ends_) net.piecewise.push_back({p, q, true, flux_, i_});
    }
    [[nodiscard]] Census census() const override { return {.nonlinear = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    std::vector<double> flux_, i_;
};
}  // namespace
std::unique_ptr<Element> make_saturable_inductor(Reader& in) { return std::make_unique<SaturableInductor>(in); }
}  // namespace emt
