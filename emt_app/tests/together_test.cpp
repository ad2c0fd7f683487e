// Jumps inside a step, and poles that move at the same instant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kTogetherDt = 50e-6;

std::string numbered(const std::string& text, int k) {
    std::string out;
    for (const char c : text) out += c == '#' ? std::to_string(k) : std::string(1, c);
    return out;
}

/// `count` times the elements, in which # is the number, behind a sine of 100 V at s.
Simulation feeders(int count, const std::string& elements) {
    std::string all = R"({"type":"voltage_source","name":"E","to":"s","r":1e-2,"amplitude":100,"phase":-90})", nodes = R"("s")";
    for (int k = 0; k < count; ++k) {
        all += "," + numbered(elements, k);
        nodes += numbered(R"(,"q#")", k);
    }
    return Simulation(make_case(all, kTogetherDt, R"("start":"zero","nodes":[)" + nodes + "],"));
}

TEST(Together, AnInductanceOpenedInsideAStepLeavesNoChatter) {
    // 10 A through 0.1 H beside 1 megohm. The voltage that takes the current away, 0.1 H·10 A/25 µs, must not go on as ± of itself.
    const auto rest = [](double opened) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1,"amplitude":100,"shape":"step"},
                                  {"type":"switch","name":"S","nodes":["s","a"],"closed":true,"operations":[{"time":)" + std::to_string(opened) + R"(,"action":"open"}]},
                                  {"type":"inductor","name":"L","nodes":["a","0"],"l":0.1},{"type":"resistor","name":"R","nodes":["a","0"],"r":1e6})",
                               kTogetherDt, R"("start":"zero","nodes":["s","a"],)"));
        s.run(static_cast<int>(std::ceil(opened / kTogetherDt)) + 1);
        double largest = 0;
        for (int i = 0; i < 20; ++i) {
            s.run(1);
            largest = std::max(largest, std::abs(s.v("a")));
        }
        return largest;
    };
    const double on_a_step = rest(0.02);
    EXPECT_LT(on_a_step, 400);
    for (const double part : {0.1, 0.5, 0.9}) EXPECT_LT(rest(0.02 + part * kTogetherDt), 4 * on_a_step) << part;
}

TEST(Together, ADiodeTakesOverTheCurrentOfAnInductance) {
    // 100 V·(1 - exp(-15t))/1.5 ohm before, and exp(-5t) of it after the opening, through the diode's milliohm.
    for (const double opened : {0.02, 0.02003}) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1,"amplitude":100,"shape":"step"},
                                  {"type":"switch","name":"S","nodes":["s","a"],"closed":true,"r_on":1e-6,"operations":[{"time":)" + std::to_string(opened) + R"(,"action":"open"}]},
                                  {"type":"inductor","name":"L","nodes":["a","b"],"l":0.1},{"type":"resistor","name":"RL","nodes":["b","0"],"r":0.5},
                                  {"type":"resistor","name":"R","nodes":["a","0"],"r":1e6},{"type":"diode","name":"D","nodes":["0","a"]})",
                               kTogetherDt, R"("start":"zero","nodes":["s","a","b"],)"));
        s.run(static_cast<int>(0.03 / kTogetherDt));
        const double current = 100 / 1.5 * (1 - std::exp(-15 * opened)) * std::exp(-5 * (s.time() - opened));
        EXPECT_NEAR(s.v("b") / 0.5, current, 1e-3 * current) << opened;
    }
}

TEST(Together, EqualBreakersOpenAtTheSameCurrentZero) {
    Simulation s = feeders(3, R"({"type":"switch","name":"S#","nodes":["s","q#"],"closed":true,"current_zero":true,"r_off":1e6,"operations":[{"time":0.004,"action":"open"}]},
                                 {"type":"resistor","name":"R#","nodes":["q#","0"],"r":100})");
    s.run(static_cast<int>(0.0125 / kTogetherDt));  // the zero is at 8.3 ms, the next one at 16.7 ms
    for (int k = 0; k < 3; ++k) EXPECT_LT(std::abs(s.v("q" + std::to_string(k))), 0.1) << k;
}

TEST(Together, EqualPairsEndTheirPulsesAtTheSameCurrentZero) {
    Simulation s = feeders(2, R"({"type":"thyristor_pair","name":"T#","nodes":["s","q#"],"start":0.005,"period":1,"width":1e-4,"r_off":1e6},
                                 {"type":"resistor","name":"R#","nodes":["q#","0"],"r":10})");
    s.run(static_cast<int>(0.0125 / kTogetherDt));
    for (int k = 0; k < 2; ++k) EXPECT_LT(std::abs(s.v("q" + std::to_string(k))), 0.1) << k;
}

TEST(Together, AllPolesThatCloseInsideAStepClose) {
    Simulation s = feeders(20, R"({"type":"switch","name":"S#","nodes":["s","q#"],"r_off":1e6,"operations":[{"time":0.00403,"action":"close"}]},
                                  {"type":"resistor","name":"R#","nodes":["q#","0"],"r":100})");
    s.run(static_cast<int>(0.005 / kTogetherDt));
    for (int k = 0; k < 20; ++k) EXPECT_GT(std::abs(s.v("q" + std::to_string(k))), 50) << k;
    EXPECT_EQ(s.engine().unsettled(), 0);
}

TEST(Together, EveryOperationInsideAStepTakesPlace) {
    std::string all = R"({"type":"voltage_source","name":"E","to":"s","r":1e-2,"amplitude":100})", nodes = R"("s")";
    for (int k = 0; k < 20; ++k) {
        const std::string time = std::to_string(0.004 + (k + 1) * 2e-6);
        all += numbered(R"(,{"type":"switch","name":"S#","nodes":["s","q#"],"r_off":1e6,"operations":[{"time":)", k) + time +
               numbered(R"(,"action":"close"}]},{"type":"resistor","name":"R#","nodes":["q#","0"],"r":100})", k);
        nodes += numbered(R"(,"q#")", k);
    }
    Simulation s(make_case(all, kTogetherDt, R"("start":"zero","nodes":[)" + nodes + "],"));
    s.run(static_cast<int>(0.0045 / kTogetherDt));
    for (int k = 0; k < 20; ++k) EXPECT_LT(std::abs(s.v("q" + std::to_string(k)) - s.v("s")), 1) << k;
}

TEST(Together, APairWhoseCurrentJumpsThroughZeroOpens) {
    for (const double jump : {0.004, 0.00403}) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"V","to":"s","r":0.01,"amplitude":100,"shape":"step","start":0},
                                  {"type":"voltage_source","name":"W","to":"s","r":0.01,"amplitude":-300,"shape":"step","start":)" + std::to_string(jump) + R"(},
                                  {"type":"thyristor_pair","name":"T","nodes":["s","a"],"start":1e-3,"period":1,"width":1e-3,"r_off":1e6},
                                  {"type":"resistor","name":"R","nodes":["a","0"],"r":10})", kTogetherDt, R"("start":"zero","nodes":["s","a"],)"));
        s.run(70);
        EXPECT_NEAR(s.v("a"), 50, 0.1);
        s.run(20);
        EXPECT_NEAR(s.v("a"), 0, 0.1) << jump;
    }
}

}  // namespace
}  // namespace emt::test
