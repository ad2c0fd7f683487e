// GAST, gas turbine with a temperature limit: IEEE PES-TR1, "Dynamic models for turbine-governors in power system studies", 2013.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kGast[]{{"R", 0.05, kPositive}, {"T1", 0.4, kPositive}, {"T2", 0.1, kPositive}, {"T3", 3, kPositive}, {"AT", 1, kPositive},
                            {"KT", 2, kNotNegative}, {"VMAX", 1}, {"VMIN", 0}, {"DTURB", 0, kNotNegative}};

// The fuel valve follows the smaller one of reference - Δω/R and AT + KT·(AT - temperature).
void build_gast(Diagram& d, const Parameters& p, const Connection& c) {
    const int speed = d.read(c.signal("speed")), heat = d.inner("temperature");
    const int order = d.add("order", sum({{1, reference_of(d, c)}, {-1 / p("R"), speed}}).constant(1 / p("R")));
    const int limit = d.add("limit", gain(-p("KT"), heat).constant(p("AT") * (1 + p("KT"))));
    const int valve = d.add("valve", gain(1, d.add("fuel", least(order, limit))).lag(1, p("T1")).limits(p.bound("VMIN"), p.bound("VMAX")));
    const int flow = d.add("flow", gain(1, valve).lag(1, p("T2")));
    d.add("temperature", gain(1, flow).lag(1, p("T3")));
    d.add_as(c.signal("pm"), sum({{1, flow}, {-p("DTURB"), speed}}).constant(p("DTURB")));
}
}  // namespace
ControlModel gast_model() { return {"GAST", kGast, build_gast}; }
}  // namespace emt
