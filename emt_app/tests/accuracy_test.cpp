// Lumped circuits against their closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "simulation.hpp"

namespace emt::test {
namespace {

const std::string kZero = R"("start":"zero","nodes":["a","b"],)";

std::string rl(double dt) {
    return make_case(R"({"type":"voltage_source","name":"E","to":"a","r":1,"shape":"step","amplitude":100},
                        {"type":"resistor","name":"R","nodes":["a","b"],"r":9},
                        {"type":"inductor","name":"L","nodes":["b","0"],"l":0.1})", dt, kZero);
}

double rl_error(double dt) {
    Simulation s(rl(dt));
    s.run(static_cast<int>(std::lround(5e-3 / dt)));
    return std::abs(s.v("b") - 100 * std::exp(-100 * s.time()));
}

TEST(Accuracy, RlStepFollowsTheExponential) {
    EXPECT_LT(rl_error(50e-6), 1e-3);
    // The backward Euler half steps at the start are of first order locally, so of second order overall.
    EXPECT_NEAR(rl_error(50e-6) / rl_error(25e-6), 4, 0.3);
}

TEST(Accuracy, RcStepFollowsTheExponential) {
    const auto error = [](double dt) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":10,"shape":"step","amplitude":100},
                                  {"type":"resistor","name":"R","nodes":["a","b"],"r":90},
                                  {"type":"capacitor","name":"C","nodes":["b","0"],"c":20e-6})", dt, kZero));
        s.run(static_cast<int>(std::lround(4e-3 / dt)));
        return std::abs(s.v("b") - 100 * (1 - std::exp(-s.time() / 2e-3)));
    };
    EXPECT_LT(error(50e-6), 2e-2);
    EXPECT_NEAR(error(50e-6) / error(25e-6), 4, 0.3);
}

TEST(Accuracy, LcFrequencyIsLowByTheTrapezoidalRulesOwnError) {
    // tan(ω'Δt/2) = ωΔt/2, hence ω'/ω ≈ 1 - (ωΔt)²/12. A start without a jump, so the whole run is trapezoidal but for
    // the first step; compare the phase after many cycles.
    const double dt = 50e-6, l = 0.01, c = 10e-6, w = 1 / std::sqrt(l * c);
    Simulation s(make_case(R"({"type":"inductor","name":"L","nodes":["a","0"],"l":0.01},{"type":"capacitor","name":"C","nodes":["a","0"],"c":10e-6})",
                           dt, R"("start":"zero","nodes":["a"],"initial_voltage":{"a":100},)"));
    const double exact = 2 / dt * std::atan(w * dt / 2);
    s.run(1);
    const int n = 2000;
    // Amplitude and phase from the first step and a quarter period later are known: v_k = A·cos(ω'·kΔt + φ).
    const double v1 = s.v("a");
    s.run(1);
    const double v2 = s.v("a");
    const double x = exact * dt;
    const double sine = (v1 * std::cos(x) - v2) / std::sin(x);
    s.run(n - 1);
    EXPECT_NEAR(s.v("a"), v1 * std::cos(n * x) - sine * std::sin(n * x), 1e-8);
    EXPECT_NEAR(1 - exact / w, (w * dt) * (w * dt) / 12, 1e-5);
}

TEST(Accuracy, SeriesRlcRingsAsItsClosedForm) {
    const auto error = [](double dt) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":2,"shape":"step","amplitude":100},
                                  {"type":"series_rlc","name":"F","nodes":["a","0"],"r":8,"l":0.02,"c":20e-6})", dt, R"("start":"zero","nodes":["a"],)"));
        s.run(static_cast<int>(std::lround(6e-3 / dt)));
        const double alpha = 10 / (2 * 0.02), wd = std::sqrt(1 / (0.02 * 20e-6) - alpha * alpha);
        const double i = 100 / (0.02 * wd) * std::exp(-alpha * s.time()) * std::sin(wd * s.time());
        return std::abs(s.v("a") - (100 - 2 * i));
    };
    EXPECT_LT(error(10e-6), 2e-3);
    EXPECT_NEAR(error(20e-6) / error(10e-6), 4, 0.4);
}

TEST(Accuracy, CoupledBranchesMatchTheirSequences) {
    // Equal sources on all phases see R1 + 2·Rm + …: the zero sequence.
    Simulation s(make_case(R"({"type":"voltage_source","name":"Ea","to":"S.a","r":1e-6,"amplitude":100},
                              {"type":"voltage_source","name":"Eb","to":"S.b","r":1e-6,"amplitude":100},
                              {"type":"voltage_source","name":"Ec","to":"S.c","r":1e-6,"amplitude":100},
                              {"type":"coupled_rl","name":"Z","from":"S","to":"R","r":[[3,1,1],[1,3,1],[1,1,3]],"l":[[0.03,0.01,0.01],[0.01,0.03,0.01],[0.01,0.01,0.03]]},
                              {"type":"resistor","name":"Load","buses":["R","0"],"r":10})", 50e-6, R"("start":"steady","buses":["S","R"],)"));
    const double x = 0.05 * 2 / 50e-6 * std::tan(std::numbers::pi * 60 * 50e-6);  // of the discrete inductance
    const std::complex<double> expected = 100.0 * 10.0 / std::complex<double>(15 + 1e-6, x);
    s.run(400);
    const double t = s.time();
    EXPECT_NEAR(s.v("R.b"), std::abs(expected) * std::cos(2 * std::numbers::pi * 60 * t + std::arg(expected)), 1e-6);
}

/// Voltage at bus A, phase a, after each of some steps: 10 uF charged to 100 V discharge into `coil`; bus B is grounded.
std::vector<double> discharge_into(const std::string& coil) {
    Simulation s(make_case(R"({"type":"capacitor","name":"C","buses":["A","0"],"c":10e-6},{"type":"resistor","name":"G","buses":["B","0"],"r":1e-7},)" + coil,
                           20e-6, R"("start":"zero","buses":["A","B"],"initial_voltage":{"A.a":100,"A.b":100,"A.c":100,"B.a":0,"B.b":0,"B.c":0},)"));
    std::vector<double> v;
    for (int i = 0; i < 100; ++i) {
        s.run(1);
        v.push_back(s.v("A.a"));
    }
    return v;
}

struct Coil {
    const char* name;
    const char* element;  // 10 mH from A.a to ground in some guise
    double tolerance;
};

class InductanceAtRest : public testing::TestWithParam<Coil> {};

TEST_P(InductanceAtRest, APrechargedCapacitorDischargesAlikeIntoEveryKindOfInductance) {
    const auto reference = discharge_into(R"({"type":"inductor","name":"L","buses":["A","0"],"l":0.01})"), other = discharge_into(GetParam().element);
    EXPECT_NEAR(reference[13], 100 * std::cos(0.28e-3 / std::sqrt(0.01 * 10e-6)), 0.1);
    for (std::size_t i = 0; i < reference.size(); ++i) ASSERT_NEAR(other[i], reference[i], GetParam().tolerance) << "step " << i + 1;
}

INSTANTIATE_TEST_SUITE_P(Kinds, InductanceAtRest, testing::Values(
    Coil{"saturable", R"({"type":"saturable_inductor","name":"L","buses":["A","0"],"curve":[[1,100]]})", 1e-9},
    Coil{"rlc", R"({"type":"series_rlc","name":"L","buses":["A","0"],"r":0,"l":0.01,"c":1e6})", 1e-6},
    Coil{"coupled", R"({"type":"coupled_rl","name":"L","from":"A","to":"0","r":[[0,0,0],[0,0,0],[0,0,0]],"l":[[0.01,0,0],[0,0.01,0],[0,0,0.01]]})", 1e-9},
    Coil{"source", R"({"type":"voltage_source","name":"L","to":"A.a","l":0.01,"shape":"step","amplitude":0})", 1e-9},
    Coil{"transformer", R"({"type":"transformer","name":"L","connection":"YgYg","primary":"A","secondary":"B","v1":1,"v2":1,"r":0,"l":0.01})", 1e-4}),
    [](const auto& info) { return info.param.name; });

TEST(ZeroStart, ASourcesOwnInductanceStartsWithoutCurrent) {
    // phase 0: the EMF jumps to its crest at t = 0, but the current cannot.
    const std::string load = R"(,{"type":"resistor","name":"R","nodes":["a","0"],"r":20})";
    Simulation own(make_case(R"({"type":"voltage_source","name":"E","to":"a","l":0.01,"amplitude":100})" + load, 50e-6, R"("start":"zero","nodes":["a"],)"));
    Simulation apart(make_case(R"({"type":"voltage_source","name":"E","to":"b","r":1e-6,"amplitude":100},
                                  {"type":"inductor","name":"L","nodes":["b","a"],"l":0.01})" + load, 50e-6, kZero));
    own.run(1);
    apart.run(1);
    EXPECT_NEAR(own.v("a"), 100 * (1 - std::exp(-0.1)), 0.25);
    for (int i = 1; i < 100; ++i) {
        own.run(1);
        apart.run(1);
        ASSERT_NEAR(own.v("a"), apart.v("a"), 1e-3) << "step " << i;
    }
}

TEST(ZeroStart, AThreePhaseSourceStartsWithoutCurrent) {
    // The phases' EMFs start at 100, -50 and -50 V; each of them is a circuit of its own.
    const std::string nodes = R"("start":"zero","buses":["A"],)", load = R"(,{"type":"resistor","name":"R","buses":["A","0"],"r":20})";
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"A","amplitude":100,"r1":0,"l1":0.01})" + load, 10e-6, nodes));
    s.run(5);
    for (const auto& [node, emf] : {std::pair("A.a", 100.0), std::pair("A.b", -50.0), std::pair("A.c", -50.0)})
        EXPECT_NEAR(s.v(node), emf * (1 - std::exp(-0.1)), 0.2) << node;
}

TEST(Cda, OpeningAnInductiveCircuitDoesNotChatter) {
    Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":100},
                              {"type":"switch","name":"S","nodes":["a","b"],"closed":true,"operations":[{"time":0.021,"action":"open"}]},
                              {"type":"inductor","name":"L","nodes":["b","0"],"l":0.1},
                              {"type":"resistor","name":"R","nodes":["b","0"],"r":1e5})", 50e-6, R"("start":"steady","nodes":["a","b"],)"));
    s.run(420);
    s.run(2);  // the restart, then ordinary steps again; L/R is a fiftieth of a step
    double last = s.v("b");
    for (int i = 0; i < 50; ++i) {
        s.run(1);
        EXPECT_GE(std::abs(last) + 1e-9, std::abs(s.v("b")));
        last = s.v("b");
    }
    EXPECT_LT(std::abs(last), 20);  // without the two half steps it swings by ± 1e5·i for hundreds of steps
}

TEST(Cda, TrappedChargeStays) {
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"A","amplitude":1000,"r1":0.1,"l1":0.001},
                              {"type":"switch","name":"S","buses":["A","B"],"closed":true,"current_zero":true,"operations":[{"time":0.02,"action":"open"}]},
                              {"type":"capacitor","name":"C","buses":["B","0"],"c":1e-5})", 50e-6, R"("start":"steady","buses":["A","B"],)"));
    s.run(1000);
    const double trapped = s.v("B.a");
    EXPECT_NEAR(std::abs(trapped), 1000 * 1.0014, 1.0);  // opened at the current zero: the voltage is at its crest
    s.run(5000);
    EXPECT_EQ(s.v("B.a"), trapped);
}

TEST(Accuracy, BackToBackCapacitorSwitchingRingsAtTheLoopFrequency) {
    // Two equal charged/uncharged capacitors through L: they swap, v2 = V/2·(1 - cos ωt), ω² = 2/(LC).
    const double dt = 1e-6;
    Simulation s(make_case(R"({"type":"capacitor","name":"C1","nodes":["a","0"],"c":10e-6},{"type":"capacitor","name":"C2","nodes":["c","0"],"c":10e-6},
                              {"type":"switch","name":"S","nodes":["a","b"],"r_on":1e-6,"operations":[{"time":0,"action":"close"}]},
                              {"type":"inductor","name":"L","nodes":["b","c"],"l":1e-4})", dt,
                           R"("start":"zero","nodes":["a","b","c"],"initial_voltage":{"a":1000},)"));
    s.run(300);
    const double w = std::sqrt(2 / (1e-4 * 10e-6));
    EXPECT_NEAR(s.v("c"), 500 * (1 - std::cos(w * s.time())), 1.5);
}

TEST(Accuracy, EnergyIsConservedInALosslessTank) {
    Simulation s(make_case(R"({"type":"inductor","name":"L","nodes":["a","0"],"l":0.01},{"type":"capacitor","name":"C","nodes":["a","0"],"c":10e-6})",
                           50e-6, R"("start":"zero","nodes":["a"],"initial_voltage":{"a":100},)"));
    s.run(10);
    const auto crest = [&] {
        double top = 0;
        for (int i = 0; i < 5000; ++i) {
            s.run(1);
            top = std::max(top, std::abs(s.v("a")));
        }
        return top;
    };
    const double early = crest();
    s.run(200000);
    EXPECT_NEAR(crest(), early, 1e-6 * early);
}

TEST(Accuracy, LargeTaskWithSparseFactorsMatchesDenseOne) {
    // An RC ladder above the limit of the dense inverse, beside its first nodes' closed recursion at DC.
    std::string nodes, elements = R"({"type":"voltage_source","name":"E","to":"n0","r":1,"shape":"step","amplitude":60})";
    const int n = 60;
    for (int i = 0; i < n; ++i) {
        nodes += (i > 0 ? ",\"n" : "\"n") + std::to_string(i) + "\"";
        const std::string here = "n" + std::to_string(i), next = i + 1 < n ? "n" + std::to_string(i + 1) : "0";
        elements += R"(,{"type":"resistor","name":"R)" + here + R"(","nodes":[")" + here + "\",\"" + next + R"("],"r":1})";
        elements += R"(,{"type":"capacitor","name":"C)" + here + R"(","nodes":[")" + here + R"(","0"],"c":1e-7})";
    }
    Simulation s(make_case(elements, 1e-6, R"("start":"zero","nodes":[)" + nodes + "],"));
    ASSERT_GT(s.parts().tasks.front().size(), kDenseNodes);
    s.run(6000);  // 40 times the slowest time constant
    EXPECT_NEAR(s.v("n0"), 60.0 * 60 / 61, 1e-9);
    EXPECT_NEAR(s.v("n59"), 60.0 / 61, 1e-9);
}

}  // namespace
}  // namespace emt::test
