// Piecewise-linear elements and transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "network/phasor.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

TEST(Piecewise, ArresterSolvesTheCharacteristicAtEveryStep) {
    // Behind a resistance the working point is algebraic: (e - v)/R = i(v).
    Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":10,"amplitude":1000},
                              {"type":"arrester","name":"A","nodes":["a","0"],"curve":[[400,0.4],[500,20],[550,400]]})",
                           50e-6, R"("start":"zero","nodes":["a"],)"));
    const auto current = [](double v) {
        const double x = std::abs(v);
        const double i = x <= 400 ? x * 1e-3 : x <= 500 ? 0.4 + (x - 400) * 0.196 : 20 + (x - 500) * 7.6;
        return std::copysign(i, v);
    };
    for (int n = 1; n <= 800; ++n) {
        s.run(1);
        const double e = 1000 * std::cos(2 * std::numbers::pi * 60 * s.time()), v = s.v("a");
        ASSERT_NEAR((e - v) / 10, current(v), 1e-9) << "step " << n;
    }
    EXPECT_EQ(s.engine().unsettled(), 0);
}

TEST(Piecewise, SaturatedInductorMatchesItsFluxIntegral) {
    // A stiff voltage across the coil: λ follows by the trapezoidal sum, the current by the curve.
    Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":0.5,"amplitude":400,"phase":-90},
                              {"type":"saturable_inductor","name":"L","nodes":["a","0"],"curve":[[1.0,0.5],[1.2,20]]},
                              {"type":"resistor","name":"R","nodes":["a","0"],"r":1e6})",
                           50e-6, R"("start":"zero","nodes":["a"],)"));
    double flux = 0, last = 0;
    const auto current = [](double x) { const double a = std::abs(x); return std::copysign(a <= 1 ? 0.5 * a : 0.5 + (a - 1) * 97.5, x); };
    for (int n = 1; n <= 1000; ++n) {
        s.run(1);
        const double v = s.v("a");
        flux += s.dt() / 2 * (last + v);
        last = v;
        const double e = 400 * std::sin(2 * std::numbers::pi * 60 * s.time());
        ASSERT_NEAR((e - v) / 0.5 - v * 1e-6, current(flux), 1e-7) << "step " << n;
    }
}

Complex secondary(const std::string& connection) {
    // The delta side gets its ground reference from the load.
    const Case c = parse_case(make_case(R"({"type":"source","name":"E","bus":"P","amplitude":1000,"r1":1e-4,"l1":1e-7},
        {"type":"transformer","name":"T","connection":")" + connection + R"(","primary":"P","secondary":"S","v1":1000,"v2":100,"r":1e-4,"l":1e-6,"lm":10},
        {"type":"resistor","name":"R","buses":["S","0"],"r":1000})", 50e-6, R"("start":"steady","buses":["P","S"],)"), "test");
    return solve_phasors(c.network)[3];
}

TEST(Transformer, RatioAndPhaseShiftOfEachConnection) {
    EXPECT_NEAR(std::abs(secondary("YgYg") - Complex(100, 0)), 0, 0.01);
    EXPECT_NEAR(std::abs(secondary("DD") - Complex(100, 0)), 0, 0.01);
    EXPECT_NEAR(std::abs(secondary("YgD") - std::polar(100.0, -std::numbers::pi / 6)), 0, 0.01);
    EXPECT_NEAR(std::abs(secondary("DYg") - std::polar(100.0, std::numbers::pi / 6)), 0, 0.01);
}

TEST(Transformer, DeltaBlocksZeroSequence) {
    Simulation s(make_case(R"({"type":"voltage_source","name":"Ea","to":"P.a","r":1,"amplitude":100},{"type":"voltage_source","name":"Eb","to":"P.b","r":1,"amplitude":100},
        {"type":"voltage_source","name":"Ec","to":"P.c","r":1,"amplitude":100},
        {"type":"transformer","name":"T","connection":"YgD","primary":"P","secondary":"S","v1":100,"v2":100,"r":0.1,"l":1e-3},
        {"type":"resistor","name":"R","buses":["S","0"],"r":10})", 50e-6, R"("start":"steady","buses":["P","S"],)"));
    s.run(100);
    EXPECT_NEAR(s.v("S.a"), 0, 1e-9);
    // The delta shorts it: the source sees the leakage of each unit.
    const double x = 1e-3 * 2 / 50e-6 * std::tan(std::numbers::pi * 60 * 50e-6);
    const Complex v = 100.0 * Complex(0.1, x) / Complex(1.1, x);
    EXPECT_NEAR(s.v("P.a"), std::abs(v) * std::cos(2 * std::numbers::pi * 60 * s.time() + std::arg(v)), 1e-9);
}

TEST(Fault, OfThreePhasesIsSymmetric) {
    // Each pair joined through 3 ohm is a star of 1 ohm: half of the source's voltage is left.
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"A","amplitude":1000,"r1":1,"l1":0},
        {"type":"fault","name":"F","bus":"A","kind":"abc","r":3,"start":0.001})", 50e-6, R"("start":"steady","buses":["A"],)"));
    s.run(400);
    for (int k = 0; k < 3; ++k)
        EXPECT_NEAR(s.v(std::string("A.") + "abc"[k]), 500 * std::cos(2 * std::numbers::pi * (60 * s.time() - k / 3.0)), 1e-9);
}

TEST(Fault, ClearsAtACurrentZero) {
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"A","amplitude":1000,"r1":0.1,"l1":0.01},
        {"type":"resistor","name":"R","buses":["A","0"],"r":100},
        {"type":"fault","name":"F","bus":"A","kind":"ag","r":0.01,"start":0.02,"stop":0.05})", 50e-6, R"("start":"steady","buses":["A"],)"));
    s.run(900);
    EXPECT_LT(std::abs(s.v("A.a")), 10);
    s.run(2000);
    double crest = 0;
    for (int i = 0; i < 400; ++i) {
        s.run(1);
        crest = std::max(crest, std::abs(s.v("A.a")));
    }
    EXPECT_NEAR(crest, 998, 4);
}

}  // namespace
}  // namespace emt::test
