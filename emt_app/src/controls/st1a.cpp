// ST1A, thyristors fed by the machine's own terminals: IEEE 421.5-2005, 7.1. Usual values: IEC 61970-302, ExcIEEEST1A. Without
// the inputs of limiters for under- and overexcitation. KF needs TA > 0: else its loop is algebraic.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kSt1a[]{{"TR", 0.02, kNotNegative}, {"VIMAX", 999}, {"VIMIN", -999}, {"TC", 1, kNotNegative}, {"TB", 10, kNotNegative},
                            {"TC1", 0, kNotNegative}, {"TB1", 0, kNotNegative}, {"KA", 190, kPositive}, {"TA", 0, kNotNegative},
                            {"VAMAX", 999}, {"VAMIN", -999}, {"VRMAX", 7.8}, {"VRMIN", -6.7}, {"KC", 0.08, kNotNegative},
                            {"KF", 0, kNotNegative}, {"TF", 1, kPositive}, {"KLR", 0, kNotNegative}, {"ILR", 0}};

// V_T·V_RMIN ≤ E_FD ≤ V_T·V_RMAX - KC·I_FD
void build_st1a(Diagram& d, const Parameters& p, const Connection& c) {
    const int vt = d.read(c.signal("vt")), ifd = d.read(c.signal("ifd"));
    const int vc = d.add("vc", gain(1, vt).lag(1, p("TR")));
    BlockDraft::Terms terms{{1, reference_of(d, c)}, {-1, vc}, {1, d.read_if_made(c.signal("vs"))}};
    if (p("KF") > 0) terms.emplace_back(-1, d.inner("vf"));
    const int error = d.add("error", sum(terms).limits(p.bound("VIMIN"), p.bound("VIMAX")));
    const int lead = d.add("lead", gain(1, error).lead_lag(p("TC"), p("TB")));
    const int lead1 = d.add("lead1", gain(1, lead).lead_lag(p("TC1"), p("TB1")));
    int va = d.add("va", gain(1, lead1).lag(p("KA"), p("TA")).limits(p.bound("VAMIN"), p.bound("VAMAX")));
    if (p("KF") > 0) d.add("vf", gain(p("KF") / p("TF"), va).washout(1, p("TF")));
    if (p("KLR") > 0) {
        const int excess = d.add("excess", gain(p("KLR"), ifd).constant(-p("KLR") * p("ILR")).limits(0, kUnlimited));
        va = d.add("limited", sum({{1, va}, {-1, excess}}));
    }
    const int ceiling = d.add("ceiling", sum({{p("VRMAX"), vt}, {-p("KC"), ifd}}));
    const int above = d.add("above", greatest(va, d.add("floor", gain(p("VRMIN"), vt))));
    d.add_as(c.signal("efd"), least(above, ceiling));
}
}  // namespace
ControlModel st1a_model() { return {"ST1A", kSt1a, build_st1a}; }
}  // namespace emt
