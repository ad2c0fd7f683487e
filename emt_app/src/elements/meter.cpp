// Monitoring block: square of the r.m.s. voltage, the lag T·y' = u² - y. Stands in for one control or monitoring block
// of Table I; it reads the network and never acts on it.
#include "elements/element.hpp"

namespace emt {
namespace {
class MeterElement final : public Element {
public:
    explicit MeterElement(Reader& in)
        : ends_(in.terminals()), time_constant_(in.number("time_constant", Reader::Range::positive, 0.02)) {}
    void lower(Network& net, Reporter&) const override {
        const auto [g, c] = companion_lag(time_constant_, net.dt_s);
        for (const Nodes2& ends : ends_) net.meters.push_back({ends, g, c});
    }
    [[nodiscard]] Census census() const override { return {.control = static_cast<long>(ends_.size())}; }
    [[nodiscard]] std::string simplified() const override { return "r.m.s. lag of one voltage, no action on the network"; }

private:
    std::vector<Nodes2> ends_;
    double time_constant_;  // s
};
}  // namespace
ElementType meter_element() {
    return {"meter", make<MeterElement>, R"({"allOf": [{"$ref": "#/$defs/terminals"}], "properties": {
        "time_constant": {"$ref": "#/$defs/positive", "description": "s"}}})"};
}
}  // namespace emt
