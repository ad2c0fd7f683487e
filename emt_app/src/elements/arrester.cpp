// Arrester or other resistive element with an odd, ascending piecewise-linear characteristic, points [V, A].
#include "elements/all.hpp"

namespace emt {
namespace {
class Arrester final : public Element {
public:
    explicit Arrester(Reader& in) : ends_(in.terminals()) { in.curve("curve", v_, i_); }
    void lower(Network& net, Reporter&) const override {
        for (const auto& [p, q] : ends_) net.piecewise.push_back({p, q, false, v_, i_});
    }
    [[nodiscard]] Census census() const override { return {.nonlinear = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    std::vector<double> v_, i_;
};
}  // namespace
std::unique_ptr<Element> make_arrester(Reader& in) { return std::make_unique<Arrester>(in); }
}  // namespace emt
