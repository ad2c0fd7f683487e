// PSS2B, stabilizer of speed and electrical power, which together give the integral of the accelerating power: IEEE 421.5-2005,
// 8.2. Usual values: IEC 61970-302, PssIEEE2B. A washout with TW = 0 is left out.
#include <cmath>

#include "controls/model.hpp"

namespace emt {
namespace {
constexpr Parameter kPss2b[]{{"KS1", 12}, {"KS2", 0.2}, {"KS3", 1}, {"TW1", 2, kNotNegative}, {"TW2", 2, kNotNegative},
                             {"TW3", 2, kNotNegative}, {"TW4", 0, kNotNegative}, {"T1", 0.12, kNotNegative}, {"T2", 0.02, kPositive},
                             {"T3", 0.3, kNotNegative}, {"T4", 0.02, kPositive}, {"T6", 0, kNotNegative}, {"T7", 2, kNotNegative},
                             {"T8", 0.2, kNotNegative}, {"T9", 0.1, kPositive}, {"T10", 0, kNotNegative}, {"T11", 0, kNotNegative},
                             {"M", 5, kNotNegative}, {"N", 1, kNotNegative}, {"VSI1MAX", 2}, {"VSI1MIN", -2}, {"VSI2MAX", 2}, {"VSI2MIN", -2},
                             {"VSTMAX", 0.1}, {"VSTMIN", -0.1}};

int washed(Diagram& d, const std::string& part, int signal, double tw) { return tw > 0 ? d.add(part, gain(1, signal).washout(1, tw)) : signal; }

// Ramp-tracking filter ((1 + T8·s)/(1 + T9·s)^M)^N
int ramp_tracking(Diagram& d, int signal, const Parameters& p) {
    const int n = static_cast<int>(p("N")), m = static_cast<int>(p("M"));
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < m; ++k) {
            const std::string part = "ramp" + std::to_string(i) + '_' + std::to_string(k);
            signal = d.add(part, k == 0 ? gain(1, signal).lead_lag(p("T8"), p("T9")) : gain(1, signal).lag(1, p("T9")));
        }
    return signal;
}

void build_pss2b(Diagram& d, const Parameters& p, const Connection& c) {
    const int si1 = d.add("si1", gain(1, d.read(c.signal("speed"))).constant(-1).limits(p.bound("VSI1MIN"), p.bound("VSI1MAX")));
    const int si2 = d.add("si2", gain(1, d.read(c.signal("pe"))).limits(p.bound("VSI2MIN"), p.bound("VSI2MAX")));
    const int speed = d.add("speed", gain(1, washed(d, "wash2", washed(d, "wash1", si1, p("TW1")), p("TW2"))).lag(1, p("T6")));
    const int power = d.add("power", gain(1, washed(d, "wash4", washed(d, "wash3", si2, p("TW3")), p("TW4"))).lag(p("KS2"), p("T7")));
    const int tracked = ramp_tracking(d, d.add("mechanical", sum({{1, speed}, {p("KS3"), power}})), p);
    const int swing = d.add("swing", sum({{p("KS1"), tracked}, {-p("KS1"), power}}));
    const int lead1 = d.add("lead1", gain(1, swing).lead_lag(p("T1"), p("T2")));
    int lead2 = d.add("lead2", gain(1, lead1).lead_lag(p("T3"), p("T4")));
    if (p("T11") > 0) lead2 = d.add("lead3", gain(1, lead2).lead_lag(p("T10"), p("T11")));
    d.add_as(c.signal("vs"), gain(1, lead2).limits(p.bound("VSTMIN"), p.bound("VSTMAX")));
}
}  // namespace
ControlModel pss2b_model() {
    return {"PSS2B", kPss2b, build_pss2b, [](const Parameters& p) {
                const bool good = p("N") == std::floor(p("N")) && p("M") == std::floor(p("M")) && p("N") <= 4 && p("M") <= 8;
                return std::string(good ? "" : "'N' and 'M' must be whole numbers up to 4 and 8");
            }};
}
}  // namespace emt
