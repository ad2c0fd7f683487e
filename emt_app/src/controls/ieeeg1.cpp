// IEEEG1, steam turbine of up to four stages: IEEE Committee Report, "Dynamic models for steam and hydro turbines in power system
// studies", IEEE Trans. PAS-92(6), 1973, p. 1904. Usual values: IEC 61970-302, GovSteamIEEE1. K1, K3, K5 and K7 are fractions of
// the power, all on one shaft.
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kIeeeg1[]{{"K", 25, kPositive}, {"T1", 0, kNotNegative}, {"T2", 0, kNotNegative}, {"T3", 0.1, kPositive},
                              {"UO", 1, kPositive}, {"UC", -10}, {"PMAX", 1}, {"PMIN", 0}, {"T4", 0.3, kNotNegative}, {"K1", 0.2},
                              {"T5", 5, kNotNegative}, {"K3", 0.3}, {"T6", 0.5, kNotNegative}, {"K5", 0.5}, {"T7", 0, kNotNegative}, {"K7", 0}};

void build_ieeeg1(Diagram& d, const Parameters& p, const Connection& c) {
    const int valve = d.inner("valve");
    const int swing = d.add("swing", gain(p("K"), d.read(c.signal("speed"))).constant(-p("K")).lead_lag(p("T2"), p("T1")));
    const int rate = d.add("rate", sum({{1 / p("T3"), reference_of(d, c)}, {-1 / p("T3"), swing}, {-1 / p("T3"), valve}}).limits(p.bound("UC"), p.bound("UO")));
    d.add("valve", gain(1, rate).integral(1).limits(p.bound("PMIN"), p.bound("PMAX")));
    const int chest = d.add("chest", gain(1, valve).lag(1, p("T4")));
    const int reheater = d.add("reheater", gain(1, chest).lag(1, p("T5")));
    const int crossover = d.add("crossover", gain(1, reheater).lag(1, p("T6")));
    const int last = d.add("last", gain(1, crossover).lag(1, p("T7")));
    d.add_as(c.signal("pm"), sum({{p("K1"), chest}, {p("K3"), reheater}, {p("K5"), crossover}, {p("K7"), last}}));
}
}  // namespace
ControlModel ieeeg1_model() { return {"IEEEG1", kIeeeg1, build_ieeeg1}; }
}  // namespace emt
