// AC4A, alternator with thyristors: IEEE 421.5-2005, 6.4. Usual values: IEC 61970-302, ExcIEEEAC4A.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kAc4a[]{{"TR", 0, kNotNegative}, {"VIMAX", 10}, {"VIMIN", -10}, {"TC", 1, kNotNegative}, {"TB", 10, kNotNegative},
                            {"KA", 200, kPositive}, {"TA", 0.015, kNotNegative}, {"VRMAX", 5.64}, {"VRMIN", -4.53}, {"KC", 0, kNotNegative}};

// V_RMIN ≤ E_FD ≤ V_RMAX - KC·I_FD
void build_ac4a(Diagram& d, const Parameters& p, const Connection& c) {
    const int vc = d.add("vc", gain(1, d.read(c.signal("vt"))).lag(1, p("TR")));
    const int error = d.add("error", sum({{1, reference_of(d, c)}, {-1, vc}, {1, d.read_if_made(c.signal("vs"))}}).limits(p.bound("VIMIN"), p.bound("VIMAX")));
    const int lead = d.add("lead", gain(1, error).lead_lag(p("TC"), p("TB")));
    const int va = d.add("va", gain(1, lead).lag(p("KA"), p("TA")));
    const int ceiling = d.add("ceiling", gain(-p("KC"), d.read(c.signal("ifd"))).constant(p("VRMAX")));
    d.add_as(c.signal("efd"), least(va, ceiling).limits(p.bound("VRMIN"), kUnlimited));
}
}  // namespace
ControlModel ac4a_model() { return {"AC4A", kAc4a, build_ac4a}; }
}  // namespace emt
