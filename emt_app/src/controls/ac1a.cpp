// AC1A, alternator with diodes and feedback of the exciter's field current: IEEE 421.5-2005, 6.1. Usual values: IEC 61970-302,
// ExcIEEEAC1A. The rectifier's regulation F_EX is that of annex D.
#include "controls/model.hpp"
#include "controls/saturation.hpp"

namespace emt {
namespace {
constexpr Parameter kAc1a[]{{"TR", 0, kNotNegative}, {"TC", 0, kNotNegative}, {"TB", 0, kNotNegative}, {"KA", 400, kPositive},
                            {"TA", 0.02, kPositive}, {"VAMAX", 14.5}, {"VAMIN", -14.5}, {"VRMAX", 6.03}, {"VRMIN", -5.43},
                            {"TE", 0.8, kPositive}, {"KE", 1}, {"KF", 0.03, kNotNegative}, {"TF", 1, kPositive}, {"KC", 0.2, kNotNegative},
                            {"KD", 0.38, kNotNegative}, {"VE1", 4.18, kPositive}, {"SE1", 0.1, kNotNegative}, {"VE2", 3.14, kPositive},
                            {"SE2", 0.03, kNotNegative}};

// I_N = KC·I_FD/V_E, V_E counting as 0.001 below that. F_EX = 1 - I_N/√3 to I_N = √3/4, then √(3/4 - I_N²) to 3/4, then
// √3·(1 - I_N) to 1, then 0: the root of a middle part that stays where it leaves its range, and a straight line beyond on either
// side.
int rectifier_regulation(Diagram& d, double kc, int ifd, int ve) {
    const double root3 = std::sqrt(3.0), low = root3 / 4, high = 0.75;
    const int divisor = d.add("divisor", gain(1, ve).limits(0.001, kUnlimited));
    const int in = d.add("in", quotient(kc, ifd, divisor));
    const int middle = d.add("middle", look_up(in, {0, low, high, 1}, {low, low, high, high}));
    const int square = d.add("square", product(1, middle, middle));
    const int arc = d.add("arc", BlockDraft(Block::Operation::root, {{-1, square}}).constant(0.75));
    const int lines = d.add("lines", look_up(in, {0, low, high, 1, 2}, {0.25, 0, 0, -root3 / 4, -root3 / 4}));
    return d.add("fex", sum({{1, arc}, {1, lines}}));
}

// V_FE = KD·I_FD + KE·V_E + V_X, V_E' = (V_R - V_FE)/TE, E_FD = F_EX·V_E
void build_ac1a(Diagram& d, const Parameters& p, const Connection& c) {
    const int ve = d.inner("ve"), ifd = d.read(c.signal("ifd"));
    const int vx = saturation_of(d, ve, p("VE1"), p("SE1"), p("VE2"), p("SE2"));
    const int vfe = d.add("vfe", sum({{p("KD"), ifd}, {p("KE"), ve}, {1, vx}}));
    const int vf = d.add("vf", gain(p("KF") / p("TF"), vfe).washout(1, p("TF")));
    const int vc = d.add("vc", gain(1, d.read(c.signal("vt"))).lag(1, p("TR")));
    const int error = d.add("error", sum({{1, reference_of(d, c)}, {-1, vc}, {1, d.read_if_made(c.signal("vs"))}, {-1, vf}}));
    const int lead = d.add("lead", gain(1, error).lead_lag(p("TC"), p("TB")));
    const int va = d.add("va", gain(1, lead).lag(p("KA"), p("TA")).limits(p.bound("VAMIN"), p.bound("VAMAX")));
    const int vr = d.add("vr", gain(1, va).limits(p.bound("VRMIN"), p.bound("VRMAX")));
    d.add("ve", sum({{1, vr}, {-1, vfe}}).integral(1 / p("TE")).limits(0, kUnlimited));
    d.add_as(c.signal("efd"), product(1, ve, rectifier_regulation(d, p("KC"), ifd, ve)));
}
}  // namespace
ControlModel ac1a_model() {
    return {"AC1A", kAc1a, build_ac1a, [](const Parameters& p) { return saturation_problem(p("VE1"), p("SE1"), p("VE2"), p("SE2")); }};
}
}  // namespace emt
