// PSS1A, stabilizer with one input, here the speed: IEEE 421.5-2005, 8.1. Usual values: IEC 61970-302, PssIEEE1A.
#include "controls/filters.hpp"
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kPss1a[]{{"KS", 5}, {"T1", 0.3, kNotNegative}, {"T2", 0.03, kPositive}, {"T3", 0.3, kNotNegative}, {"T4", 0.03, kPositive},
                             {"T5", 10, kPositive}, {"T6", 0.01, kNotNegative}, {"A1", 0.061, kNotNegative}, {"A2", 0.0017, kNotNegative},
                             {"VSTMAX", 0.05}, {"VSTMIN", -0.05}};

void build_pss1a(Diagram& d, const Parameters& p, const Connection& c) {
    const int speed = d.add("sensor", gain(1, d.read(c.signal("speed"))).lag(1, p("T6")));
    const int swing = d.add("swing", gain(p("KS"), speed).washout(1, p("T5")));
    const int filter = quadratic_filter(d, "filter", swing, {}, {p("A1"), p("A2")});
    const int lead1 = d.add("lead1", gain(1, filter).lead_lag(p("T1"), p("T2")));
    d.add_as(c.signal("vs"), gain(1, lead1).lead_lag(p("T3"), p("T4")).limits(p.bound("VSTMIN"), p.bound("VSTMAX")));
}
}  // namespace
ControlModel pss1a_model() { return {"PSS1A", kPss1a, build_pss1a}; }
}  // namespace emt
