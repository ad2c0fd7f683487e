// DC1A, direct-current commutator exciter: IEEE 421.5-2005, 5.1. Usual values: IEC 61970-302, ExcIEEEDC1A.
//
// KE = 0 is a shunt field that is tuned to its critical resistance: the regulator gives the saturation alone.
#include "controls/model.hpp"
#include "controls/saturation.hpp"

namespace emt {
namespace {
constexpr Parameter kDc1a[]{{"TR", 0.02, kNotNegative}, {"TC", 0, kNotNegative}, {"TB", 0, kNotNegative}, {"KA", 46, kPositive},
                            {"TA", 0.06, kPositive}, {"VRMAX", 1}, {"VRMIN", -0.9}, {"KE", 0}, {"TE", 0.46, kPositive},
                            {"KF", 0.1, kNotNegative}, {"TF", 1, kPositive}, {"EFD1", 3.1, kPositive}, {"SE1", 0.33, kNotNegative},
                            {"EFD2", 2.3, kPositive}, {"SE2", 0.1, kNotNegative}};

// efd' = (V_R - KE·efd - V_X)/TE
void build_dc1a(Diagram& d, const Parameters& p, const Connection& c) {
    const int efd = d.read_if_made(c.signal("efd"));
    const int vc = d.add("vc", gain(1, d.read(c.signal("vt"))).lag(1, p("TR")));
    const int vf = d.add("vf", gain(p("KF") / p("TF"), efd).washout(1, p("TF")));
    const int error = d.add("error", sum({{1, reference_of(d, c)}, {-1, vc}, {1, d.read_if_made(c.signal("vs"))}, {-1, vf}}));
    const int lead = d.add("lead", gain(1, error).lead_lag(p("TC"), p("TB")));
    const int vr = d.add("vr", gain(1, lead).lag(p("KA"), p("TA")).limits(p.bound("VRMIN"), p.bound("VRMAX")));
    const int vx = saturation_of(d, efd, p("EFD1"), p("SE1"), p("EFD2"), p("SE2"));
    d.add_as(c.signal("efd"), sum({{1, vr}, {-p("KE"), efd}, {-1, vx}}).integral(1 / p("TE")));
}
}  // namespace
ControlModel dc1a_model() {
    return {"DC1A", kDc1a, build_dc1a, [](const Parameters& p) { return saturation_problem(p("EFD1"), p("SE1"), p("EFD2"), p("SE2")); }};
}
}  // namespace emt
