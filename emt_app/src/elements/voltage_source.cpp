// One-phase voltage source behind a series resistance and inductance, from "from" (−) to "to" (+).
// Nodal analysis needs a finite impedance: r + 2l/Δt > 0. A stiff source is one with a small r.
#include "elements/element.hpp"

namespace emt {
namespace {
class VoltageSource final : public Element {
public:
    explicit VoltageSource(Reader& in)
        : plus_(in.node("to")),
          minus_(in.has("from") ? in.node("from") : kGround),
          r_(in.number("r", Reader::Range::not_negative, 0)),
          l_(in.number("l", Reader::Range::not_negative, 0)),
          wave_(in.waveform()) {
        if (r_ == 0 && l_ == 0) in.report()("ideal-source", "needs 'r' or 'l' greater than zero (Norton equivalent)");
    }
    void lower(Network& net, Reporter&) const override {
        const auto [g, c] = companion_rl(r_, l_, net.dt_s);
        Coupled3 out{.node = {plus_, kGround, kGround, minus_, kGround, kGround}};
        out.g[0] = g;
        out.a[0] = c.a;
        out.b[0] = c.b;
        out.a_be[0] = c.a_be;
        out.b_be[0] = c.b_be;
        out.emf[0] = wave_;
        net.coupled.push_back(out);
        net.channels.add("i", Channel::Quantity::current, {{Carried::By::coupled, net.coupled.size() - 1, 0, -1}});
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    int plus_, minus_;
    double r_, l_;  // ohm, H
    Waveform wave_; // V
};
}  // namespace
ElementType voltage_source_element() {
    return {"voltage_source", make<VoltageSource>, R"({"allOf": [{"$ref": "#/$defs/waveform"}], "required": ["to"], "anyOf": [{"required": ["r"]}, {"required": ["l"]}], "properties": {
        "to": {"type": "string"},
        "from": {"type": "string"},
        "r": {"$ref": "#/$defs/not_negative"},
        "l": {"$ref": "#/$defs/not_negative"}}})"};
}
}  // namespace emt
