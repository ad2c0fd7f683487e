// Control blocks against closed forms: filters, loops, limits, operations, their start, and what a case must not say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "simulation.hpp"

namespace emt::test {
namespace {

const std::string kNetwork = R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":1},{"type":"resistor","name":"R","nodes":["a","0"],"r":1})";

/// A case of blocks beside a small network.
std::string blocks(const std::string& elements, double dt, const std::string& start = "zero") {
    return make_case(kNetwork + "," + elements, dt, R"("start":")" + start + R"(","nodes":["a"],)");
}
std::string block(const std::string& name, const std::string& kind, const std::string& more) {
    return R"({"type":"block","name":")" + name + R"(","kind":")" + kind + R"(",)" + more + "}";
}

/// A signal at a time, in seconds.
double value_at(const std::string& elements, const std::string& signal, double dt, double time) {
    Simulation s(blocks(elements, dt));
    s.run(static_cast<int>(std::lround(time / dt)) + 1);
    return s.signal(signal);
}

/// The error at `time` falls to a quarter when the step is halved, and is small.
void expect_second_order(const std::string& elements, const std::string& signal, double time, double exact, double dt, double largest) {
    const double coarse = value_at(elements, signal, dt, time) - exact, fine = value_at(elements, signal, dt / 2, time) - exact;
    EXPECT_LT(std::fabs(coarse), largest) << signal;
    EXPECT_NEAR(coarse / fine, 4, 0.5) << signal << ": " << coarse << " and " << fine;
}

const std::string kStep = block("u", "step", R"("amplitude":2,"time":0.01)");

TEST(Blocks, StepResponsesOfFiltersAreOfSecondOrder) {
    const double t = 0.03;  // after the step
    expect_second_order(kStep + "," + block("y", "lag", R"("input":"u","gain":3,"time_constant":0.02)"), "y", 0.04, 6 * (1 - std::exp(-t / 0.02)), 4e-4, 1e-3);
    expect_second_order(kStep + "," + block("y", "washout", R"("input":"u","gain":3,"time_constant":0.02)"), "y", 0.04, 6 * std::exp(-t / 0.02), 4e-4, 1e-3);
    expect_second_order(kStep + "," + block("y", "lead_lag", R"("input":"u","lead":0.05,"lag":0.02)"), "y", 0.04, 2 + 2 * 1.5 * std::exp(-t / 0.02), 4e-4, 1e-3);
}

TEST(Blocks, AStepBetweenTwoInstantsIsIntegratedExactly) {
    for (const char* time : {"0.01", "0.01001", "0.010037", "0.01004999"}) {
        const std::string u = block("u", "step", R"("value":1,"amplitude":2,"time":)" + std::string(time));
        EXPECT_NEAR(value_at(u + "," + block("y", "integrator", R"("input":"u","gain":5,"initial":0.25)"), "y", 5e-5, 0.02),
                    0.25 + 5 * (0.02 + 2 * (0.02 - std::stod(time))), 1e-12);
    }
}

TEST(Blocks, RampsAndSinesAreFunctionsOfTime) {
    const std::string all = block("r", "ramp", R"("value":1,"amplitude":-4,"time":0.01,"duration":0.02)") + "," +
                            block("s", "sine", R"("value":0.5,"amplitude":3,"frequency":70,"phase":40)");
    for (const double t : {0.005, 0.015, 0.025, 0.04}) {
        EXPECT_NEAR(value_at(all, "r", 5e-5, t), 1 - 4 * std::clamp((t - 0.01) / 0.02, 0.0, 1.0), 1e-12);
        EXPECT_NEAR(value_at(all, "s", 5e-5, t), 0.5 + 3 * std::cos(2 * std::numbers::pi * (70 * t + 40.0 / 360)), 1e-12);
    }
}

TEST(Blocks, LoopsAreOfSecondOrder) {
    // y'' = -w²·y from two integrators, and a lag with feedback: T·y' = u - (1 + K)·y.
    const double w = 100;
    const std::string oscillator = block("x", "integrator", R"("input":"y","gain":-100)") + "," + block("y", "integrator", R"("input":"x","gain":100,"initial":1)");
    expect_second_order(oscillator, "y", 0.05, std::cos(w * 0.05), 2e-4, 1e-3);
    const std::string feedback = kStep + "," + block("e", "sum", R"("inputs":["u","y"],"weights":[1,-4])") + "," + block("y", "lag", R"("input":"e","time_constant":0.05)");
    expect_second_order(feedback, "y", 0.02, 0.4 * (1 - std::exp(-0.01 * 5 / 0.05)), 4e-4, 1e-4);
}

TEST(Blocks, LimitsHoldTheStateAndLetItGoAtOnce) {
    // The integral of cos(wt) is held at 0.5 from wt = π/6, until the input changes its sign at wt = π/2.
    const double w = 2 * std::numbers::pi * 5;
    const std::string u = block("u", "sine", R"("amplitude":1,"frequency":5)");
    const std::string held = u + "," + block("y", "integrator", R"("input":"u","gain":)" + std::to_string(w) + R"(,"high":0.5,"low":-9)");
    EXPECT_EQ(value_at(held, "y", 1e-4, 0.04), 0.5);
    EXPECT_NEAR(value_at(held, "y", 1e-4, 0.08), 0.5 + std::sin(w * 0.08) - 1, 1e-5);
    const std::string wound = u + "," + block("y", "integrator", R"("input":"u","windup":true,"gain":)" + std::to_string(w) + R"(,"high":0.5)");
    EXPECT_EQ(value_at(wound, "y", 1e-4, 0.08), 0.5);
    EXPECT_NEAR(value_at(wound, "y", 1e-4, 0.1), std::sin(w * 0.1), 1e-5);
}

TEST(Blocks, RatesAreLimited) {
    const std::string all = kStep + "," + block("y", "rate_limiter", R"("input":"u","up":50,"down":20)");
    EXPECT_NEAR(value_at(all, "y", 5e-5, 0.03), 50 * 0.02, 50 * 5e-5 + 1e-12);
    EXPECT_EQ(value_at(all, "y", 5e-5, 0.06), 2);
}

TEST(Blocks, OperationsAreWhatTheyAreCalled) {
    const std::string all = block("a", "constant", R"("value":3)") + "," + block("b", "constant", R"("value":-2)") + "," +
                            block("sum", "sum", R"("inputs":["a","b","a"],"weights":[1,2,0.5],"constant":10)") + "," +
                            block("product", "product", R"("inputs":["a","b","b"],"gain":2)") + "," + block("quotient", "quotient", R"("inputs":["a","b"],"gain":4)") + "," +
                            block("minimum", "minimum", R"("inputs":["a","b","sum"])") + "," + block("maximum", "maximum", R"("inputs":["b","a"])") + "," +
                            block("absolute", "absolute", R"("input":"b","gain":3)") + "," + block("root", "root", R"("input":"a","gain":12)") + "," +
                            block("no_root", "root", R"("input":"b")") + "," + block("limited", "gain", R"("input":"a","gain":5,"high":7)") + "," +
                            block("table", "table", R"("input":"a","points":[[-1,0],[1,4],[2,5],[2.5,1]])") + "," +
                            block("low", "table", R"("input":"b","points":[[-1,0],[1,4]])") + "," +
                            block("first", "selection", R"("inputs":["a","b"],"selector":"a")") + "," + block("second", "selection", R"("inputs":["a","b"],"selector":"b")");
    Simulation s(blocks(all, 5e-5));
    s.run(3);
    const std::vector<std::pair<const char*, double>> expected{{"sum", 10.5}, {"product", 24}, {"quotient", -6}, {"minimum", -2}, {"maximum", 3}, {"absolute", 6}, {"root", 6},
                                                               {"no_root", 0}, {"limited", 7}, {"table", -3}, {"low", -2}, {"first", 3}, {"second", -2}};
    for (const auto& [name, value] : expected) EXPECT_DOUBLE_EQ(s.signal(name), value) << name;
    EXPECT_EQ(s.study().census.control, 15);
}

TEST(Blocks, AComparisonHasHysteresis) {
    const std::string all = block("u", "sine", R"("amplitude":1,"frequency":10,"phase":-90)") + "," + block("y", "comparison", R"("input":"u","on":0.8,"off":-0.5)");
    // sin(wt) rises above 0.8 at 14.8 ms and falls below -0.5 at 58.3 ms.
    for (const auto& [t, on] : {std::pair(0.0140, 0), std::pair(0.0155, 1), std::pair(0.0400, 1), std::pair(0.0575, 1), std::pair(0.0590, 0), std::pair(0.1140, 0)})
        EXPECT_EQ(value_at(all, "y", 5e-5, t), on) << t;
}

TEST(Blocks, HalfStepsKeepTheOrder) {
    // A switching in their task: blocks take the two half steps as the network does.
    const std::string event = R"({"type":"switch","name":"S","nodes":["a","0"],"r_on":1,"operations":[{"time":0.02,"action":"close"},{"time":0.025,"action":"open"}]},)"
                              R"({"type":"measurement","name":"va","quantity":"voltage","nodes":["a","0"]},)" +
                              block("never", "product", R"("inputs":["va","u"],"gain":0)") + ",";
    const std::string lag = event + kStep + "," + block("y", "lag", R"("input":"u","time_constant":0.02)");
    expect_second_order(lag, "y", 0.04, 2 * (1 - std::exp(-1.5)), 4e-4, 1e-3);
    const std::string ramp = event + kStep + "," + block("y", "integrator", R"("input":"u")");
    EXPECT_NEAR(value_at(ramp, "y", 5e-5, 0.04), 0.06, 1e-12);
}

TEST(Blocks, MeasuredVoltagesAreThoseOfTheNetwork) {
    const std::string all = R"({"type":"source","name":"S","bus":"A","amplitude":1000,"phase":20,"r1":1,"l1":0.01},{"type":"resistor","name":"RA","buses":["A","0"],"r":50},
        {"type":"measurement","name":"v","quantity":"voltage","nodes":["A.b","0"],"base":10},{"type":"measurement","name":"m","quantity":"magnitude","bus":"A","time_constant":0.002},
        {"type":"meter","name":"q","nodes":["A.a","0"],"time_constant":0.5})";
    Simulation s(make_case(all, 5e-5, R"("buses":["A"],)"));
    const double before = s.v("A.b");
    s.run(1);
    EXPECT_DOUBLE_EQ(s.signal("v"), before / 10);
    const double magnitude = s.signal("m"), squared = s.signal("q");
    EXPECT_NEAR(squared, magnitude * magnitude / 2, 2e-3 * squared);  // with a ripple of 1/(4π·60·0.5)
    s.run(20000);
    EXPECT_NEAR(s.signal("m"), magnitude, 1e-9 * magnitude);
    EXPECT_NEAR(magnitude, 50 * 1000 / std::abs(std::complex<double>(51, 2 / 5e-5 * std::tan(std::numbers::pi * 60 * 5e-5) * 0.01)), 1e-9 * magnitude);
}

TEST(Blocks, SteadyStartGoesBackwardsToOpenReferences) {
    // The regulator of a lag: what it needs is known at its end.
    const std::string loop = R"({"type":"block","name":"ref","kind":"constant"},)" +
                             block("error", "sum", R"("inputs":["ref","y"],"weights":[1,-1])") + "," + block("lead", "lead_lag", R"("input":"error","lead":1,"lag":10)") + "," +
                             block("order", "lag", R"("input":"lead","gain":200,"time_constant":0.02,"high":5,"low":-5)") + "," +
                             block("rate", "washout", R"("input":"order","gain":0.03,"time_constant":1)") + "," + block("scaled", "product", R"("inputs":["order","one"])") + "," +
                             block("one", "constant", R"("value":0.5)") + "," + block("y", "lag", R"("input":"scaled","time_constant":6,"initial":1.1)");
    Simulation s(blocks(loop, 5e-5, "steady"));
    s.run(1);
    EXPECT_NEAR(s.signal("order"), 2.2, 1e-12);
    EXPECT_NEAR(s.signal("ref"), 1.1 + 2.2 / 200, 1e-12);
    s.run(20000);
    EXPECT_NEAR(s.signal("y"), 1.1, 1e-12);
    EXPECT_NEAR(s.signal("order"), 2.2, 1e-10);  // y's rounding times 200
    EXPECT_NEAR(s.signal("rate"), 0, 1e-12);
}

TEST(Blocks, SteadyStartSolvesLoops) {
    // x = 1/(1 + x) and an integrator that makes y = 2·x.
    const std::string loop = block("one", "constant", R"("value":1)") + "," + block("d", "sum", R"("inputs":["x"],"constant":1)") + "," +
                             block("q", "quotient", R"("inputs":["one","d"])") + "," + block("x", "lag", R"("input":"q","time_constant":0.1)") + "," +
                             block("e", "sum", R"("inputs":["x","y"],"weights":[2,-1])") + "," + block("y", "integrator", R"("input":"e","gain":4)");
    Simulation s(blocks(loop, 5e-5, "steady"));
    s.run(2000);
    EXPECT_NEAR(s.signal("x"), (std::sqrt(5.0) - 1) / 2, 1e-13);
    EXPECT_NEAR(s.signal("y"), std::sqrt(5.0) - 1, 1e-13);
}

TEST(Blocks, WhatFollowsFromALoopMayBeAtItsLimit) {
    Simulation s(blocks(block("u", "constant", R"("value":3)") + "," + block("error", "sum", R"("inputs":["u","y"],"weights":[1,-1])") + "," +
                            block("y", "integrator", R"("input":"error","gain":10)") + "," + block("limited", "gain", R"("input":"y","high":2)") + "," +
                            block("lagged", "lag", R"("input":"limited","time_constant":0.1)"),
                        5e-5, "steady"));
    s.run(200);
    EXPECT_NEAR(s.signal("y"), 3, 1e-12);
    EXPECT_NEAR(s.signal("limited"), 2, 1e-12);
    EXPECT_NEAR(s.signal("lagged"), 2, 1e-12);
}

TEST(Blocks, AnImpossibleSteadyStartNamesTheBlock) {
    const auto says = [](const std::string& elements) -> std::string {
        try {
            Simulation s(blocks(elements, 5e-5, "steady"));
        } catch (const std::exception& e) {
            return e.what();
        }
        return "started";
    };
    const std::string reference = R"({"type":"block","name":"ref","kind":"constant"},)", two = block("two", "constant", R"("value":2)") + ",";
    EXPECT_NE(says(reference + block("gate", "gain", R"("input":"ref","high":1)") + "," + block("y", "lag", R"("input":"gate","time_constant":1,"initial":1.5)")).find("'gate'"), std::string::npos);
    EXPECT_NE(says(reference + two + block("least", "minimum", R"("inputs":["ref","two"])") + "," + block("y", "lag", R"("input":"least","time_constant":1,"initial":3)")).find("'least'"), std::string::npos);
    EXPECT_NE(says(two + block("sum", "integrator", R"("input":"two","initial":0)")).find("'sum'"), std::string::npos);
    EXPECT_NE(says(two + block("y", "lag", R"("input":"two","time_constant":1,"initial":3)")).find("'y'"), std::string::npos);
    EXPECT_NE(says(reference + block("y", "gain", R"("input":"ref")")).find("'ref', 'y'"), std::string::npos);
}

TEST(Blocks, ATasksBitsDoNotDependOnItsNeighbours) {
    // Three islands whose blocks differ in kind and number, alone and side by side.
    const auto island = [](const std::string& k, const std::string& more) {
        const std::string source = R"({"type":"voltage_source","name":"E)" + k + R"(","to":"a)" + k + R"(","r":1,"l":0.01,"amplitude":100},{"type":"resistor","name":"R)" + k +
                                   R"(","nodes":["a)" + k + R"(","0"],"r":7},{"type":"switch","name":"S)" + k + R"(","nodes":["a)" + k + R"(","0"],"r_on":5,"operations":[{"time":0.0)" + k +
                                   R"(1,"action":"close"}]},{"type":"measurement","name":"v)" + k + R"(","quantity":"voltage","nodes":["a)" + k + R"(","0"]},)";
        std::string text = source + more;
        for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos;) text.replace(at, 1, k);
        return text;
    };
    const std::string one = island("1", block("y#", "lag", R"("input":"v#","time_constant":0.01,"high":3)"));
    const std::string two = island("2", block("p#", "product", R"("inputs":["v#","v#"],"gain":0.3)") + "," + block("s#", "root", R"("input":"p#")") + "," +
                                            block("m#", "minimum", R"("inputs":["s#","p#","x#"])") + "," + block("x#", "integrator", R"("input":"m#","gain":9,"initial":1)") + "," +
                                            block("y#", "rate_limiter", R"("input":"x#","up":3)"));
    const std::string three = island("3", block("t#", "table", R"("input":"v#","points":[[-10,1],[0,0],[10,5]])") + "," + block("c#", "comparison", R"("input":"v#","on":3,"off":-2)") + "," +
                                              block("q#", "quotient", R"("inputs":["t#","d#"])") + "," + block("d#", "sum", R"("inputs":["c#","t#"],"constant":2)") + "," +
                                              block("w#", "washout", R"("input":"q#","time_constant":0.02)") + "," +
                                              block("y#", "selection", R"("inputs":["w#","t#"],"selector":"c#")"));
    const std::vector<std::string> islands{one, two, three};
    for (const char* isa : {"portable", "avx2", "avx512"}) {
        if (find_kernels(isa) == nullptr) continue;
        Simulation together(make_case(one + "," + two + "," + three, 5e-5, R"("start":"zero","nodes":["a1","a2","a3"],)"), 0, isa);
        ASSERT_EQ(together.parts().tasks.size(), 3U);
        together.run(800);
        for (std::size_t k = 0; k < 3; ++k) {
            const std::string number = std::to_string(k + 1);
            Simulation alone(make_case(islands[k], 5e-5, R"("start":"zero","nodes":["a)" + number + R"("],)"), 0, "portable");
            alone.run(800);
            const double a = alone.signal("y" + number), b = together.signal("y" + number);
            EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << isa << " island " << number << ": " << a << " and " << b;
            EXPECT_NE(a, 0);
        }
    }
}

TEST(Blocks, SignalsJoinTasks) {
    const auto parts = [](const std::string& more) {
        const std::string line = R"({"type":"source","name":"S","bus":"A","amplitude":1000,"r1":1,"l1":0.01},{"type":"line","name":"L","from":"A","to":"B","length":100000,"r1":0,"l1":1e-6,"c1":1e-11,"r0":0,"l0":3e-6,"c0":8e-12},
            {"type":"resistor","name":"R","buses":["B","0"],"r":300},{"type":"measurement","name":"ma","quantity":"magnitude","bus":"A"},{"type":"measurement","name":"mb","quantity":"magnitude","bus":"B"})";
        return decompose(parse_case(make_case(line + more, 5e-5, R"("buses":["A","B"],)"), "t").network).tasks.size();
    };
    EXPECT_EQ(parts(""), 2U);
    EXPECT_EQ(parts("," + block("d", "sum", R"("inputs":["ma","mb"],"weights":[1,-1])")), 1U);
}

TEST(Blocks, CasesThatCannotBeComputedAreRefused) {
    const auto says = [](const std::string& elements) -> std::string {
        try {
            (void)parse_case(blocks(elements, 5e-5), "t");
        } catch (const CaseError& e) {
            return e.what();
        }
        return "accepted";
    };
    const auto expect = [&](const std::string& elements, std::initializer_list<const char*> parts) {
        const std::string said = says(elements);
        for (const char* p : parts) EXPECT_NE(said.find(p), std::string::npos) << said;
    };
    const std::string c = block("c", "constant", R"("value":1)") + ",";
    expect(c + block("x", "sum", R"("inputs":["c","z"])") + "," + block("y", "gain", R"("input":"x")") + "," + block("z", "lead_lag", R"("input":"y","lead":1,"lag":2)"),
           {"algebraic-loop", "'x', 'y', 'z'"});
    expect(block("y", "gain", R"("input":"nothing")"), {"unknown-signal", "'nothing'", "'y'"});
    expect(c + block("y", "flux", R"("input":"c")"), {"'y' (block)", "unknown-choice", "integrator"});
    expect(c + block("y", "gain", R"("input":"c","time_constant":1)"), {"'y' (block)", "unknown-key", "'time_constant'"});
    expect(c + block("y", "lag", R"("input":"c")"), {"'y' (block)", "missing-key", "'time_constant'"});
    expect(c + block("y", "gain", R"("input":"c","low":2,"high":1)"), {"'y' (block)", "out-of-range", "'low'"});
    expect(c + block("y", "sum", R"("inputs":["c","c"],"weights":[1])"), {"'y' (block)", "wrong-type", "2 numbers"});
    expect(c + block("y", "table", R"("input":"c","points":[[0,1],[0,2]])"), {"'y' (block)", "wrong-type", "ascending"});
    expect(R"({"type":"block","name":"y","kind":"constant"})", {"'y' (block)", "missing-key", "'value'"});
    expect(R"({"type":"meter","name":"M","nodes":["a","0"]},)" + c + block("M.a", "gain", R"("input":"M")") + R"(,{"type":"meter","name":"c2","nodes":["a","0"]})", {"accepted"});
}

}  // namespace
}  // namespace emt::test
