// Bad cases are refused with the element and the rule.
#include <gtest/gtest.h>

#include <set>

#include "simulation.hpp"

namespace emt::test {
namespace {

struct Bad {
    const char* name;
    const char* elements;
    std::vector<const char*> says;
};

const char* kGood = R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":1},{"type":"resistor","name":"R","nodes":["a","b"],"r":1},{"type":"resistor","name":"Rb","nodes":["b","0"],"r":1})";
const std::string kNodes = R"("start":"steady","nodes":["a","b"],"buses":["A","B"],)";
const std::string kBuses = R"(,{"type":"resistor","name":"RA","buses":["A","0"],"r":1},{"type":"resistor","name":"RB","buses":["B","0"],"r":1},{"type":"source","name":"S","bus":"A","amplitude":1,"r1":1,"l1":0.1},{"type":"inductor","name":"LAB","buses":["A","B"],"l":1})";

class BadCase : public testing::TestWithParam<Bad> {};

TEST_P(BadCase, NamesTheElementAndTheRule) {
    try {
        (void)parse_case(make_case(kGood + kBuses + "," + GetParam().elements, 50e-6, kNodes), "bad.json");
        FAIL() << "was accepted";
    } catch (const CaseError& e) {
        for (const char* part : GetParam().says) EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("bad.json"), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, BadCase, testing::Values(
    Bad{"capacitance", R"({"type":"capacitor","name":"C1","nodes":["a","0"],"c":-1e-6})", {"'C1' (capacitor)", "negative-value", "'c'"}},
    Bad{"reference", R"({"type":"resistor","name":"R9","nodes":["a","nowhere"],"r":1})", {"'R9'", "unknown-reference", "nowhere"}},
    Bad{"type", R"({"type":"flux_capacitor","name":"X"})", {"'X'", "unknown-type", "resistor"}},
    Bad{"key", R"({"type":"resistor","name":"R9","nodes":["a","0"],"r":1,"rr":2})", {"'R9'", "unknown-key", "'rr'"}},
    Bad{"missing", R"({"type":"resistor","name":"R9","nodes":["a","0"]})", {"'R9'", "missing-key", "'r'"}},
    Bad{"text", R"({"type":"resistor","name":"R9","nodes":["a","0"],"r":"ten"})", {"'R9'", "wrong-type", "ten"}},
    Bad{"twice", R"({"type":"resistor","name":"R","nodes":["a","0"],"r":1})", {"'R'", "duplicate-name"}},
    Bad{"endless_line", R"({"type":"line","name":"L1","from":"A","to":"B","length":1000,"r1":0,"l1":1e-6,"c1":9e15,"r0":0,"l0":3e-6,"c0":1e-11})", {"'L1' (line)", "line-too-long", "1048576"}},
    Bad{"short_line", R"({"type":"line","name":"L1","from":"A","to":"B","length":1000,"r1":0,"l1":1e-6,"c1":1e-11,"r0":0,"l0":3e-6,"c0":1e-11})", {"'L1' (line)", "line-shorter-than-step"}},
    Bad{"ideal", R"({"type":"voltage_source","name":"E2","to":"a","amplitude":1})", {"'E2'", "ideal-source"}},
    Bad{"curve", R"({"type":"arrester","name":"A1","nodes":["a","0"],"curve":[[10,1],[5,2]]})", {"'A1'", "curve-not-ascending"}},
    Bad{"frequency", R"({"type":"voltage_source","name":"E2","to":"a","r":1,"amplitude":1,"frequency":50})", {"'E2' (voltage_source)", "not-steady", "50"}},
    Bad{"initial_current", R"({"type":"inductor","name":"L9","nodes":["a","0"],"l":1,"i0":2})", {"'L9' (inductor)", "contradiction", "'i0'"}},
    Bad{"initial_flux", R"({"type":"saturable_inductor","name":"L9","nodes":["a","0"],"curve":[[1,1]],"flux":2})", {"'L9' (saturable_inductor)", "contradiction", "'flux'"}},
    Bad{"fluxes", R"({"type":"transformer","name":"T","connection":"YgYg","primary":"A","secondary":"B","v1":1,"v2":1,"r":0,"l":1,"saturation":[[1,1]],"flux":[1,2]})", {"'T' (transformer)", "'flux' must be a list of 3 numbers"}},
    Bad{"flux_without_core", R"({"type":"transformer","name":"T","connection":"YgYg","primary":"A","secondary":"B","v1":1,"v2":1,"r":0,"l":1,"lm":1,"flux":1})", {"'T' (transformer)", "unknown-key", "'flux'"}},
    Bad{"indefinite", R"({"type":"coupled_rl","name":"Z","from":"A","to":"B","r":[[1,0,0],[0,1,0],[0,0,1]],"l":[[0.01,0.02,0],[0.02,0.01,0],[0,0,0.01]]})", {"'Z' (coupled_rl)", "not-positive", "'l'"}},
    Bad{"terminals", R"({"type":"resistor","name":"R9","nodes":["a"],"r":1})", {"'R9'", "wrong-terminals"}},
    Bad{"matrix", R"({"type":"coupled_rl","name":"Z","from":"A","to":"B","r":[[1,2,0],[0,1,0],[0,0,1]],"l":[[1,0,0],[0,1,0],[0,0,1]]})", {"'Z'", "not-symmetric"}}),
    [](const auto& info) { return info.param.name; });

TEST(Case, WithoutANodeThereIsNothingToSolve) {
    for (const char* elements : {"", R"({"type":"block","name":"B","kind":"step","amplitude":3,"time":1})"}) {
        try {
            (void)parse_case(make_case(elements, 50e-6), "bad.json");
            FAIL() << "was accepted";
        } catch (const CaseError& e) {
            EXPECT_NE(std::string(e.what()).find("empty-case"), std::string::npos) << e.what();
        }
    }
}

TEST(Case, FloatingNodeIsNamed) {
    const std::string text = make_case(std::string(kGood) + R"(,{"type":"resistor","name":"X","nodes":["c","d"],"r":1})", 50e-6, R"("nodes":["a","b","c","d"],)");
    try {
        (void)parse_case(text, "t");
        FAIL();
    } catch (const CaseError& e) {
        EXPECT_NE(std::string(e.what()).find("singular-node"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("disconnected-island"), std::string::npos) << e.what();
    }
}

TEST(Case, CoupledBranchesMayLackAnEigenvalue) {
    const auto with_mutual = [](const char* m) {
        const std::string l = std::string("[[0.1,") + m + "," + m + "],[" + m + ",0.1," + m + "],[" + m + "," + m + ",0.1]]";
        return make_case(R"({"type":"source","name":"S","bus":"A","amplitude":1,"r1":1,"l1":0.1},
            {"type":"coupled_rl","name":"Z","from":"A","to":"0","r":[[1,0,0],[0,1,0],[0,0,1]],"l":)" + l + "}", 50e-6, R"("buses":["A"],)");
    };
    EXPECT_NO_THROW((void)parse_case(with_mutual("0.1"), "t"));
    EXPECT_THROW((void)parse_case(with_mutual("0.1001"), "t"), CaseError);
}

TEST(Case, MalformedTextIsRefusedWithItsPlace) {
    EXPECT_THROW((void)parse_case("{", "t"), CaseError);
    EXPECT_THROW((void)parse_case("[]", "t"), CaseError);
    EXPECT_THROW((void)parse_case(R"({"format":"kappa-emt-case","version":2})", "t"), CaseError);
    for (const auto& [text, expected] : {std::pair(R"({"format":5})", "needs \"format\""), std::pair(R"({"dt":1e400})", "fit double precision")}) {
        try {
            (void)parse_case(text, "t.json");
            FAIL() << text << " was accepted";
        } catch (const CaseError& e) {
            EXPECT_EQ(std::string(e.what()).find("t.json: "), 0U) << e.what();
            EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
        }
    }
}

TEST(Case, AKeyThatIsThereTwiceIsRefusedWithItsPath) {
    const auto told = [](const std::string& text) {
        try {
            (void)parse_case(text, "twice.json");
        } catch (const CaseError& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    const std::string good = make_case(kGood, 50e-6, kNodes);
    const auto twice = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        return told(text.replace(text.find(from), from.size(), to));
    };
    EXPECT_NE(twice(R"("name":"R",)", R"("name":"R","r":5,)").find("twice.json: [duplicate-key] 'elements[1].r' is given twice"), std::string::npos);
    EXPECT_NE(twice(R"("start":)", R"("start":"zero","start":)").find("[duplicate-key] 'start' is given twice"), std::string::npos);
    EXPECT_EQ(told(R"({"a":[1,{"b":2},[{"c":{"d":1,"e":[2],"d":3}}]]})").find("twice.json: [duplicate-key] 'a[2][0].c.d' is given twice"), 0U);
    EXPECT_EQ(told(R"({"a":{"b":1},"c":{"b":1}})").find("duplicate-key"), std::string::npos);
}

TEST(Case, EveryTypeIsRegisteredOnce) {
    std::set<std::string_view> names;
    for (const ElementType& t : element_types()) EXPECT_TRUE(names.insert(t.name).second) << t.name;
}

TEST(Case, AnOpeningThatIsolatesANodeStopsTheRun) {
    Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":1},
        {"type":"switch","name":"S","nodes":["a","b"],"closed":true,"operations":[{"time":0.001,"action":"open"}]})", 50e-6, R"("nodes":["a","b"],)"));
    try {
        s.run(100);
        FAIL() << "went on";
    } catch (const SimulationError& e) {
        EXPECT_NE(std::string(e.what()).find("node 'b'"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("'S' opened"), std::string::npos) << e.what();
    }
}

/// Returns a run's message when 'S' cuts off its node at this time, s, in a task with a line.
std::string told_of_an_opening(const std::string& time_s) {
    const std::string line = R"({"type":"line","name":"L","from":"B","to":"C","length":1e5,"r1":0,"l1":6e-7,"c1":6.6667e-12,"r0":0,"l0":6e-7,"c0":6.6667e-12})";
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"B","amplitude":100,"r1":1,"l1":0.01},)" + line +
                               R"(,{"type":"resistor","name":"R","buses":["C","0"],"r":100},
        {"type":"switch","name":"S","nodes":["B.a","q"],"closed":true,"operations":[{"time":)" + time_s + R"(,"action":"open"}]})",
                           50e-6, R"("start":"zero","buses":["B","C"],"nodes":["q"],)"));
    try {
        s.run(150);
    } catch (const SimulationError& e) {
        return e.what();
    }
    return "nothing";
}

TEST(Case, AnOpeningIsNamedWithItsTime) {
    for (const char* time : {"0.005", "0.00503"}) {
        const std::string told = told_of_an_opening(time);
        EXPECT_NE(told.find(std::string("node 'q' lost its path to ground at t = ") + time + " s"), std::string::npos) << told;
    }
}

std::string told_of(const std::string& text, double dt_s = 0) {
    try {
        (void)parse_case(text, "t", dt_s);
    } catch (const CaseError& e) {
        return e.what();
    }
    return "nothing";
}

TEST(Case, StepAndFrequencyHaveBounds) {
    const auto with = [](const std::string& dt, const std::string& frequency, const char* start) {
        return R"({"format":"kappa-emt-case","version":1,"dt":)" + dt + R"(,"frequency":)" + frequency + R"(,"start":")" + start +
               R"(","nodes":["a","b"],"elements":[)" + kGood + "]}";
    };
    for (const char* dt : {"0", "-1", "1e300", "1e-300", "2"}) EXPECT_NE(told_of(with(dt, "60", "zero")).find("dt: [out-of-range]"), std::string::npos) << dt;
    for (const char* f : {"0", "1e300", "1e-300"}) EXPECT_NE(told_of(with("50e-6", f, "zero")).find("frequency: [out-of-range]"), std::string::npos) << f;
    EXPECT_NE(told_of(with("\"x\"", "60", "zero")).find("dt: [wrong-type]"), std::string::npos);
    EXPECT_NE(told_of(with("5e-3", "60", "steady")).find("a quarter of a period of 60.0 Hz"), std::string::npos) << told_of(with("5e-3", "60", "steady"));
    EXPECT_NE(told_of(with("50e-6", "60", "steady"), 5e-3).find("dt: [out-of-range]"), std::string::npos) << "of the command line";
    EXPECT_EQ(told_of(with("4e-3", "60", "steady")), "nothing");
    EXPECT_EQ(told_of(with("5e-3", "60", "zero")), "nothing");
}

TEST(Case, InBriefTheProblemsAfterTwentyAreCounted) {
    std::string bad;
    for (int i = 0; i < 23; ++i) bad += R"(,{"type":"resistor","name":"X)" + std::to_string(i) + R"(","nodes":["a","0"],"r":0})";
    try {
        (void)parse_case(make_case(kGood + bad, 50e-6, R"("nodes":["a","b"],)"), "t");
        FAIL() << "was accepted";
    } catch (const CaseError& e) {
        const std::string all = e.what(), told = e.brief();
        EXPECT_EQ(told.find("t: 23 problem(s)"), 0U) << told;
        EXPECT_NE(told.find("'X19'"), std::string::npos) << told;
        EXPECT_EQ(told.find("'X20'"), std::string::npos) << told;
        EXPECT_NE(told.find("... and 3 more"), std::string::npos) << told;
        EXPECT_NE(all.find("'X22'"), std::string::npos) << all;
        EXPECT_EQ(all.find("more"), std::string::npos) << all;
    }
}

TEST(Case, AControllerNeedsAMachine) {
    const std::string told = told_of(make_case(kGood + std::string(R"(,{"type":"exciter","name":"X","model":"AC1A","machine":"H"},
        {"type":"block","name":"Y","kind":"root","input":"H.vt"})"), 50e-6, R"("nodes":["a","b"],)"));
    EXPECT_NE(told.find("element 'X': [unknown-reference] 'machine' names 'H', but there is no such machine"), std::string::npos) << told;
    EXPECT_NE(told.find("signal 'H.vt': [unknown-signal] is read by 'Y', but"), std::string::npos) << told;
    EXPECT_NE(told.find("2 problem(s)"), std::string::npos) << told;
}

}  // namespace
}  // namespace emt::test
