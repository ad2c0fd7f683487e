// Resistor: i = u/R. One phase or three equal ones.
#include "elements/all.hpp"

namespace emt {
namespace {
class Resistor final : public Element {
public:
    explicit Resistor(Reader& in) : ends_(in.terminals()), r_(in.number("r", Reader::Range::positive)) {}
    void lower(Network& net, Reporter&) const override {
        for (const auto& [p, q] : ends_) net.conductances.push_back({p, q, 1 / r_});
    }
    [[nodiscard]] Census census() const override { return {.rlc = static_cast<long>(ends_.size())}; }

private:
    std::vector<std::pair<int, int>> ends_;
    double r_;  // ohm
};
}  // namespace
std::unique_ptr<Element> make_resistor(Reader& in) { return std::make_unique<Resistor>(in); }
}  // namespace emt
