// HYGOV, hydro turbine with a rigid water column behind a governor with temporary droop: IEEE PES-TR1, "Dynamic models
// for turbine-governors in power system studies", 2013. RT is its temporary droop r. The limits of the gate hold the
// integral of the governor's PI part; the limits of the gate's speed and position act on the sum.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kHygov[]{{"R", 0.05, kPositive}, {"RT", 0.3, kPositive}, {"TR", 5, kPositive}, {"TF", 0.05, kPositive},
                             {"TG", 0.5, kPositive}, {"VELM", 0.2, kPositive}, {"GMAX", 1}, {"GMIN", 0}, {"TW", 1, kPositive},
                             {"AT", 1.2, kPositive}, {"DTURB", 0, kNotNegative}, {"QNL", 0.08, kNotNegative}};

// e = (reference - Δω - R·c)/(1 + TF·s), c = (1 + TR·s)/(RT·TR·s)·e at most VELM a second, g = c/(1 + TG·s);
// h = (q/g)², where g counts as 0.01 below that, q' = (1 - h)/TW, P_M = AT·h·(q - QNL) - DTURB·g·Δω
void build_hygov(Diagram& d, const Parameters& p, const Connection& c) {
    const int speed = d.read(c.signal("speed")), gate_order = d.inner("order"), flow = d.inner("flow");
    const int error = d.add("error", sum({{1, reference_of(d, c)}, {-1, speed}, {-p("R"), gate_order}}).constant(1).lag(1, p("TF")));
    const int reset = d.add("reset", gain(1, error).integral(1 / (p("RT") * p("TR"))).limits(p.bound("GMIN"), p.bound("GMAX")));
    d.add("order", sum({{1 / p("RT"), error}, {1, reset}}).rates(p("VELM"), p("VELM")).windup(p.bound("GMIN"), p.bound("GMAX")));
    const int gate = d.add("gate", gain(1, gate_order).lag(1, p("TG")));
    const int divisor = d.add("divisor", gain(1, gate).limits(0.01, kUnlimited));
    const int opening = d.add("opening", quotient(1, flow, divisor));
    const int head = d.add("head", product(1, opening, opening));
    d.add("flow", gain(-1, head).constant(1).integral(1 / p("TW")));
    const int power = d.add("power", product(p("AT"), head, d.add("load", gain(1, flow).constant(-p("QNL")))));
    const int swing = d.add("swing", gain(1, speed).constant(-1));
    const int drag = d.add("drag", product(p("DTURB"), gate, swing));
    d.add_as(c.signal("pm"), sum({{1, power}, {-1, drag}}));
}
}  // namespace
ControlModel hygov_model() { return {"HYGOV", kHygov, build_hygov}; }
}  // namespace emt
