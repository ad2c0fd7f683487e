// Sources driven by a signal: against the same sources without one, closed forms, and their steady start.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "digests.hpp"
#include "parallel/outputs.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kDrivenDt = 50e-6;

std::string block_of(const std::string& name, const std::string& keys) { return R"({"type":"block","name":")" + name + R"(",)" + keys + "}"; }

/// A source of each type on its own load, driven by S or not.
std::string driven_sources(bool driven) {
    const std::string by = driven ? R"(,"signal":"S"})" : "}";
    return R"({"type":"voltage_source","name":"E","to":"v","r":0.5,"l":0.02,"amplitude":100,"phase":20)" + by +
           R"(,{"type":"resistor","name":"RE","nodes":["v","0"],"r":4},{"type":"current_source","name":"J","to":"i","amplitude":3,"phase":-40)" + by +
           R"(,{"type":"resistor","name":"RJ","nodes":["i","0"],"r":5},{"type":"capacitor","name":"CJ","nodes":["i","0"],"c":1e-5},
            {"type":"source","name":"T","bus":"B","r1":0.3,"l1":0.01,"r0":1,"l0":0.03,"amplitude":1000,"phase":10)" + by +
           R"(,{"type":"resistor","name":"R1","nodes":["B.a","0"],"r":20},{"type":"resistor","name":"R2","nodes":["B.b","B.c"],"r":7},
            {"type":"coupled_rl","name":"L","from":"B","to":"0","r":[[9,1,2],[1,9,1],[2,1,9]],"l":[[0.02,0.005,0],[0.005,0.02,0],[0,0,0.02]]})";
}
constexpr const char* kDrivenNodes = R"("nodes":["v","i"],"buses":["B"],)";
constexpr const char* kDrivenShown[]{"v", "i", "B.a", "B.b", "B.c"};

double driven_channel(Simulation& s, const std::string& name) {
    const std::vector<Channel>& all = s.study().network.channels.all();
    const auto it = std::find_if(all.begin(), all.end(), [&](const Channel& c) { return c.name == name; });
    if (it == all.end()) throw std::runtime_error("no channel " + name);
    Outputs out(s.study().network, s.parts(), s.engine(), {static_cast<int>(it - all.begin())});
    out.observe(s.engine());
    return out.value(0);
}

TEST(DrivenSource, ASignalOfOneChangesNothing) {
    for (const char* start : {"steady", "zero"}) {
        const std::string more = std::string(R"("start":")") + start + "\"," + kDrivenNodes;
        Simulation driven(make_case(driven_sources(true) + "," + block_of("S", R"("kind":"constant","value":1)"), kDrivenDt, more)), alone(make_case(driven_sources(false), kDrivenDt, more));
        for (int n = 0; n < 500; ++n) {
            driven.run(1);
            alone.run(1);
            for (const char* node : kDrivenShown) ASSERT_NEAR(driven.v(node), alone.v(node), 1e-9) << start << ' ' << node << ' ' << n;
        }
    }
}

TEST(DrivenSource, ItsAmplitudeFollowsTheSignal) {
    Simulation driven(make_case(driven_sources(true) + "," + block_of("S", R"("kind":"step","value":1,"amplitude":-0.3,"time":0.1)"), kDrivenDt, std::string(R"("start":"steady",)") + kDrivenNodes)),
        alone(make_case(driven_sources(false), kDrivenDt, std::string(R"("start":"steady",)") + kDrivenNodes));
    driven.run(2000);
    alone.run(2000);
    for (const char* node : kDrivenShown) EXPECT_NEAR(driven.v(node), alone.v(node), 1e-9) << node;  // no drift before
    driven.run(10000);
    alone.run(10000);
    for (const char* node : kDrivenShown) EXPECT_NEAR(driven.v(node), 0.7 * alone.v(node), 1e-9) << node;
}

TEST(DrivenSource, AConstantIsTheSignalOneStepLate) {
    // 10·sin(ωt) behind R-L on a resistor, from rest: i = A/|Z|·(sin(ωt - θ) + sin θ·exp(-t/τ)).
    const auto error = [](double dt) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":1,"l":0.01,"shape":"constant","amplitude":2,"signal":"S"},
                                  {"type":"resistor","name":"R","nodes":["a","0"],"r":2},)" + block_of("S", R"("kind":"sine","amplitude":5,"frequency":80,"phase":-90)"),
                               dt, R"("start":"zero","nodes":["a"],)"));
        double worst = 0;
        for (int n = 1; n <= std::lround(0.02 / dt); ++n) {
            s.run(1);
            const double t = s.time() - dt, w = 2 * std::numbers::pi * 80, x = w * 0.01, angle = std::atan2(x, 3);
            const double exact = 10 / std::hypot(3, x) * (std::sin(w * t - angle) + std::sin(angle) * std::exp(-t * 3 / 0.01));
            worst = std::max(worst, std::fabs(s.v("a") / 2 - exact));
        }
        return worst;
    };
    EXPECT_LT(error(kDrivenDt), 1e-3);
    EXPECT_NEAR(error(2 * kDrivenDt) / error(kDrivenDt), 4, 0.5);
}

TEST(DrivenSource, AnIdealCurrentIsTheSignal) {
    Simulation s(make_case(R"({"type":"current_source","name":"J","to":"a","shape":"constant","amplitude":-2,"signal":"S"},{"type":"resistor","name":"R","nodes":["a","0"],"r":3},)" +
                               block_of("S", R"("kind":"ramp","amplitude":7,"time":0.001,"duration":0.002)"),
                           kDrivenDt, R"("start":"steady","nodes":["a"],)"));
    for (int n = 0; n < 100; ++n) {
        s.run(1);
        EXPECT_NEAR(s.v("a"), -6 * s.signal("S"), 1e-12);  // both of the beginning of the step
    }
    EXPECT_NEAR(s.v("a"), -42, 1e-12);
}

TEST(DrivenSource, AControlledVoltageStartsAtRestAndReturns) {
    // An integrator holds the magnitude at the load; its reference and its start come from the steady state.
    const std::string loop = R"({"type":"source","name":"T","bus":"A","r1":0.2,"l1":0.005,"amplitude":1000,"signal":"S"},{"type":"resistor","name":"R","buses":["A","0"],"r":10},
        {"type":"resistor","name":"R2","buses":["C","0"],"r":10},{"type":"switch","name":"W","buses":["A","C"],"closed":false,"operations":[{"time":1.1,"action":"close"}]},
        {"type":"measurement","name":"V","quantity":"magnitude","bus":"A","base":1000,"time_constant":0.002},)" +
        block_of("reference", R"("kind":"constant")") + "," + block_of("error", R"("kind":"sum","inputs":["reference","V"],"weights":[1,-1])") + "," + block_of("S", R"("kind":"integrator","input":"error","gain":30)");
    Simulation s(make_case(loop, kDrivenDt, R"("start":"steady","buses":["A","C"],)"));
    s.run(1);
    const double v = s.signal("V"), reference = s.signal("reference");
    EXPECT_EQ(s.signal("S"), 1);
    EXPECT_NEAR(v, reference, 1e-14);
    s.run(20000);
    EXPECT_NEAR(s.signal("V"), v, 1e-9);
    EXPECT_NEAR(s.signal("S"), 1, 1e-9);
    s.run(2200);
    EXPECT_LT(s.signal("V"), v - 1e-3);  // the load has grown
    s.run(40000);
    EXPECT_NEAR(s.signal("V"), v, 1e-6);
    EXPECT_GT(s.signal("S"), 1.02);
}

TEST(DrivenSource, ItsCurrentIsThatOfItsLoad) {
    Simulation s(make_case(driven_sources(true) + "," + block_of("S", R"("kind":"sine","value":1,"amplitude":0.2,"frequency":7)"), kDrivenDt, std::string(R"("start":"steady",)") + kDrivenNodes));
    s.run(333);
    EXPECT_NEAR(driven_channel(s, "E.i"), s.v("v") / 4, 1e-10);
    const double phases = driven_channel(s, "T.a.i") + driven_channel(s, "T.b.i") + driven_channel(s, "T.c.i");
    EXPECT_NEAR(phases, s.v("B.a") / 20 + driven_channel(s, "L.a.i") + driven_channel(s, "L.b.i") + driven_channel(s, "L.c.i"), 1e-9);
    EXPECT_NEAR(driven_channel(s, "J.i"), 3 * s.signal("S") * std::cos(2 * std::numbers::pi * (60 * s.time() - 40.0 / 360)), 1e-12);
}

TEST(DrivenSource, AllInstructionSetsGiveTheSameBits) {
    const std::string text = make_case(driven_sources(true) + "," + block_of("S", R"("kind":"sine","value":1,"amplitude":0.2,"frequency":7)"), kDrivenDt, std::string(R"("start":"steady",)") + kDrivenNodes);
    expect_same_bits(text, 300);
}

TEST(DrivenSource, WrongKeysAndStartsAreRefused) {
    const auto says = [](const std::string& type, const std::string& keys, const std::string& signal, const char* start = "steady") -> std::string {
        const std::string at = type == "source" ? R"("bus":"B","r1":1,"l1":0,"amplitude":1)" : R"("to":"a","r":1,"amplitude":1)";
        const std::string load = R"(,{"type":"resistor","name":"R","nodes":["a","0"],"r":1},{"type":"voltage_source","name":"F","to":"a","r":1,"amplitude":1},{"type":"source","name":"H","bus":"B","r1":1,"l1":0,"amplitude":1},)";
        try {
            const Simulation s(make_case(R"({"type":")" + type + R"(","name":"E",)" + at + keys + "}" + load + block_of("S", signal), kDrivenDt, std::string(R"("start":")") + start + R"(","nodes":["a"],"buses":["B"],)"));
        } catch (const std::exception& e) {
            return e.what();
        }
        return "started";
    };
    const std::string by = R"(,"signal":"S")", one = R"("kind":"constant","value":1)", five = R"("kind":"constant","value":5)";
    EXPECT_EQ(says("voltage_source", by, one), "started");
    EXPECT_EQ(says("source", by, one), "started");
    EXPECT_EQ(says("voltage_source", by + R"(,"shape":"constant")", five, "zero"), "started");
    for (const auto& [keys, what] : {std::pair{R"(,"start":1)", "'start'"}, {R"(,"frequency":50)", "'frequency'"}, {R"(,"shape":"step")", "'shape'"}, {R"(,"shape":"constant","phase":3)", "'phase'"}})
        EXPECT_NE(says("voltage_source", by + keys, one).find(what), std::string::npos) << says("voltage_source", by + keys, one);
    EXPECT_NE(says("voltage_source", R"(,"signal":"none")", one).find("signal 'none'"), std::string::npos);
    EXPECT_NE(says("voltage_source", R"(,"signal":3)", one).find("'signal'"), std::string::npos);
    EXPECT_NE(says("source", by + R"(,"shape":"constant")", one).find("'shape' must be sine"), std::string::npos);
    // A steady start needs 1 of a sine, 0 of a constant.
    EXPECT_NE(says("voltage_source", by, five).find("'S'"), std::string::npos);
    EXPECT_NE(says("voltage_source", by + R"(,"shape":"constant")", five).find("'S'"), std::string::npos);
    const std::string both = R"({"type":"current_source","name":"J","to":"a","shape":"constant","amplitude":1,"signal":"S"},{"type":"current_source","name":"K","to":"a","amplitude":1,"signal":"S"},
        {"type":"resistor","name":"R","nodes":["a","0"],"r":1},)" + block_of("S", R"("kind":"constant")");
    try {
        static_cast<void>(parse_case(make_case(both, kDrivenDt, R"("start":"steady","nodes":["a"],)"), "test"));
        FAIL() << "was accepted";
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("contradiction"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace emt::test
