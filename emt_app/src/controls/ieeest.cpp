// IEEEST, stabilizer with one input: PSS/E Model Library, IEEEST, after IEEE Committee Report, "Excitation system models for power
// system stability studies", PAS-100(2), 1981. Usual values: those of PSS1A.
#include "controls/filters.hpp"
#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kIeeest[]{{"IC", 1}, {"A1", 0.061, kNotNegative}, {"A2", 0.0017, kNotNegative}, {"A3", 0, kNotNegative}, {"A4", 0, kNotNegative},
                              {"A5", 0}, {"A6", 0}, {"T1", 0.3, kNotNegative}, {"T2", 0.03, kNotNegative}, {"T3", 0.3, kNotNegative},
                              {"T4", 0.03, kNotNegative}, {"T5", 10, kNotNegative}, {"T6", 10, kPositive}, {"KS", 5}, {"LSMAX", 0.05},
                              {"LSMIN", -0.05}, {"VCU", 0, kNotNegative}, {"VCL", 0, kNotNegative}};

/// The filter (1 + A5·s + A6·s²)/((1 + A1·s + A2·s²)(1 + A3·s + A4·s²)) as two factors: the first has the numerator.
struct Factors {
    Quadratic numerator, first, second;
};
Factors factors_of(const Parameters& p) {
    const Quadratic numerator{p("A5"), p("A6")}, one{p("A1"), p("A2")}, other{p("A3"), p("A4")};
    if (one.second > 0) return {numerator, one, other};
    if (other.second > 0) return {numerator, other, one};
    return {numerator, {one.first + other.first, one.first * other.first}, {}};
}

std::string ieeest_problem(const Parameters& p) {
    const double input = p("IC");
    if (input != 1 && input != 3 && input != 4 && input != 5)
        return "'IC' must be 1 (speed), 3 (electrical power), 4 (accelerating power) or 5 (terminal voltage): bus frequency (2) and derivative (6) are not supported";
    const auto [numerator, first, second] = factors_of(p);
    if (numerator.second != 0 && first.second == 0) return "'A6' needs a denominator of second order: 'A2' or 'A4', or 'A1' and 'A3', above zero";
    if (numerator.first != 0 && first.first == 0 && first.second == 0) return "'A5' needs one of 'A1' to 'A4' above zero";
    if (p("T1") > 0 && p("T2") == 0) return "'T1' needs 'T2' above zero";
    if (p("T3") > 0 && p("T4") == 0) return "'T3' needs 'T4' above zero";
    return p("VCU") > 0 && p("VCL") > p("VCU") ? "'VCL' must not be above 'VCU'" : "";
}

int input_of(Diagram& d, double code, const Connection& c) {
    if (code == 1) return d.read(c.signal("speed"));
    if (code == 3) return d.read(c.signal("pe"));
    if (code == 5) return d.read(c.signal("vt"));
    return d.add("accelerating", sum({{1, d.read_if_made(c.signal("pm"))}, {-1, d.read(c.signal("pe"))}}));
}

/// 1 where weight·signal is above the limit, else 0.
BlockDraft above(double weight, int signal, double limit) {
    BlockDraft out(Block::Operation::comparison, {{weight, signal}});
    out.block.on = out.block.off = limit;
    return out;
}

// V_S = KS·T5·s/(1 + T6·s)·(1 + T3·s)/(1 + T4·s)·(1 + T1·s)/(1 + T2·s)·filter·input, LSMIN ≤ V_S ≤ LSMAX; 0 while v_T is above VCU
// or below VCL, unless these are 0.
void build_ieeest(Diagram& d, const Parameters& p, const Connection& c) {
    const auto [numerator, first, second] = factors_of(p);
    const int filter1 = quadratic_filter(d, "filter1", input_of(d, p("IC"), c), numerator, first);
    const int filter2 = quadratic_filter(d, "filter2", filter1, {}, second);
    const int lead1 = d.add("lead1", gain(1, filter2).lead_lag(p("T1"), p("T2")));
    const int lead2 = d.add("lead2", gain(p("KS"), lead1).lead_lag(p("T3"), p("T4")));
    BlockDraft limited = gain(1, lead2).washout(p("T5") / p("T6"), p("T6")).limits(p.bound("LSMIN"), p.bound("LSMAX"));
    if (p("VCU") == 0 && p("VCL") == 0) {
        d.add_as(c.signal("vs"), std::move(limited));
        return;
    }
    const int vt = d.read(c.signal("vt")), swing = d.add("limited", std::move(limited));
    BlockDraft::Terms factors{{1, swing}};
    if (p("VCU") > 0) factors.emplace_back(1, d.add("below_vcu", above(-1, vt, -p("VCU"))));
    if (p("VCL") > 0) factors.emplace_back(1, d.add("above_vcl", above(1, vt, p("VCL"))));
    d.add_as(c.signal("vs"), BlockDraft(Block::Operation::product, factors));
}
}  // namespace
ControlModel ieeest_model() { return {"IEEEST", kIeeest, build_ieeest, ieeest_problem}; }
}  // namespace emt
