// One-phase voltage source behind a series resistance and inductance, from "from" (−) to "to" (+).
// A signal may drive it. Nodal analysis needs a finite impedance: r + 2l/Δt > 0. A stiff source is one with a small r.
#include "elements/element.hpp"

namespace emt {
namespace {
class VoltageSource final : public Element {
public:
    explicit VoltageSource(Reader& in)
        : name_(in.name()),
          plus_(in.node("to", "positive terminal")),
          minus_(in.optional_node("from", "negative terminal")),
          r_(in.number("r", Range::not_negative, "ohm", 0)),
          l_(in.number("l", Range::not_negative, "H", 0)),
          wave_(in.source_wave()) {
        in.at_least_one({"r", "l"}, Range::positive, "ideal-source", "needs 'r' or 'l' greater than zero (Norton equivalent)");
    }
    void lower(Network& net, Reporter&) const override {
        const auto [g, c] = companion_rl(r_, l_, net.dt_s);
        Coupled3 out{.node = {plus_, kGround, kGround, minus_, kGround, kGround}};
        out.g[0] = g;
        out.a[0] = c.a;
        out.b[0] = c.b;
        out.a_be[0] = c.a_be;
        out.b_be[0] = c.b_be;
        out.emf[0] = wave_.alone();
        net.coupled.push_back(out);
        std::vector<Carried> current{{Carried::By::coupled, net.coupled.size() - 1, 0, -1}};
        if (wave_.driven()) {
            net.driven_sources.push_back({{plus_, minus_}, g, c, wave_.wave, {net.signals.read(wave_.signal, name_)}});
            current.push_back({Carried::By::driven, net.driven_sources.size() - 1});
        }
        net.channels.add("i", Channel::Quantity::current, std::move(current));
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    std::string name_;
    int plus_, minus_;
    double r_, l_;  // ohm, H
    SourceWave wave_; // V
};
}  // namespace
ElementType voltage_source_element() { return {"voltage_source", make<VoltageSource>}; }
}  // namespace emt
