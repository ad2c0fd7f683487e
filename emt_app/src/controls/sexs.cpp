// SEXS, simplified excitation system: PSS/E Model Library, SEXS. Its first parameter TA/TB has the name TATB here. Usual values:
// IEC 61970-302, ExcSEXS.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kSexs[]{{"TATB", 0.1, kNotNegative}, {"TB", 10, kNotNegative}, {"K", 100, kPositive}, {"TE", 0.05, kPositive}, {"EMIN", -5}, {"EMAX", 5}};

// E_FD = K/(1 + TE·s)·(1 + TA·s)/(1 + TB·s)·(reference - v_T + V_S), EMIN ≤ E_FD ≤ EMAX without windup
void build_sexs(Diagram& d, const Parameters& p, const Connection& c) {
    const int error = d.add("error", sum({{1, reference_of(d, c)}, {-1, d.read(c.signal("vt"))}, {1, d.read_if_made(c.signal("vs"))}}));
    const int lead = d.add("lead", gain(1, error).lead_lag(p("TATB") * p("TB"), p("TB")));
    d.add_as(c.signal("efd"), gain(1, lead).lag(p("K"), p("TE")).limits(p.bound("EMIN"), p.bound("EMAX")));
}
}  // namespace
ControlModel sexs_model() { return {"SEXS", kSexs, build_sexs}; }
}  // namespace emt
