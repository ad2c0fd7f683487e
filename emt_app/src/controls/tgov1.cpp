// TGOV1, steam turbine with reheater: IEEE PES-TR1, "Dynamic models for turbine-governors in power system studies", 2013.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kTgov1[]{{"R", 0.05, kPositive}, {"T1", 0.5, kPositive}, {"VMAX", 1}, {"VMIN", 0}, {"T2", 3, kNotNegative},
                             {"T3", 10, kPositive}, {"DT", 0, kNotNegative}};

// P_M = (1 + T2·s)/(1 + T3·s)·valve - DT·Δω, the valve following (reference - Δω)/R
void build_tgov1(Diagram& d, const Parameters& p, const Connection& c) {
    const int speed = d.read(c.signal("speed"));
    const BlockDraft order = sum({{1 / p("R"), reference_of(d, c)}, {-1 / p("R"), speed}}).constant(1 / p("R"));
    const int valve = d.add("valve", BlockDraft(order).lag(1, p("T1")).limits(p.bound("VMIN"), p.bound("VMAX")));
    const int turbine = d.add("turbine", gain(1, valve).lead_lag(p("T2"), p("T3")));
    d.add_as(c.signal("pm"), sum({{1, turbine}, {-p("DT"), speed}}).constant(p("DT")));
}
}  // namespace
ControlModel tgov1_model() { return {"TGOV1", kTgov1, build_tgov1}; }
}  // namespace emt
