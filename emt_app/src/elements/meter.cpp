// Monitoring block: square of the r.m.s. voltage, V²: the signal NAME of the lag T·y' = u² - y, at a bus NAME.a, NAME.b
// and NAME.c. It counts as one control or monitoring block of Table I per phase.
#include "elements/element.hpp"

namespace emt {
namespace {
class MeterElement final : public Element {
public:
    explicit MeterElement(Reader& in)
        : name_(in.name()), ends_(in.terminals()), time_constant_(in.number("time_constant", Range::positive, "s", 0.02)) {}
    void lower(Network& net, Reporter&) const override {
        const auto [g, c] = companion_lag(time_constant_, net.dt_s);
        for (std::size_t k = 0; k < ends_.size(); ++k) {
            const std::string signal = ends_.size() == 1 ? name_ : name_ + '.' + "abc"[k];
            net.meters.push_back({{}, ends_[k], g, c, {net.signals.make(signal, name_)}});
        }
    }
    [[nodiscard]] Census census() const override { return {.control = static_cast<long>(ends_.size())}; }

private:
    std::string name_;
    std::vector<Nodes2> ends_;
    double time_constant_;  // s
};
}  // namespace
ElementType meter_element() { return {"meter", make<MeterElement>}; }
}  // namespace emt
