// Machines with exciter, governor and stabilizer, and what the power flow gives them.
#include <gtest/gtest.h>

#include <tuple>

#include "machine_probe.hpp"
#include "network/phasor.hpp"

namespace emt::test {
namespace {

/// A machine behind a line's reactance on a source, with controllers and perhaps a fault of 100 ms.
std::string controlled(const std::string& governor, bool fault, const std::string& exciter = "ST1A", const std::string& stabilizer = "PSS1A") {
    const auto controller = [](const char* type, const std::string& model) {
        return std::string(R"(,{"type":")") + type + R"(","name":")" + type + R"(","machine":"G","model":")" + model + "\"}";
    };
    return make_case(synchronous("G", "T", kSalient + R"(,"s10":0.1,"s12":0.4)", R"("h":4,"v":20.2e3,"p":80e6)") +
                         R"(,{"type":"coupled_rl","name":"L","from":"T","to":"E","r":[[0.04,0,0],[0,0.04,0],[0,0,0.04]],"l":[[3e-3,0,0],[0,3e-3,0],[0,0,3e-3]]},
                          {"type":"resistor","name":"R","buses":["T","0"],"r":40},
                          {"type":"source","name":"E","bus":"E","amplitude":16.3e3,"r1":0.01,"l1":1e-4})" +
                         (fault ? R"(,{"type":"fault","name":"F","bus":"T","kind":"abcg","r":0.05,"start":0.1,"stop":0.2})" : "") + controller("exciter", exciter) +
                         controller("governor", governor) + controller("stabilizer", stabilizer),
                     50e-6, R"("start":"steady","buses":["T","E"],)");
}

TEST(ControlledMachine, SteadyStateDriftsLessThan1e9OverOneSecond) {
    for (const auto& [governor, exciter, stabilizer] : {std::tuple{"HYGOV", "ST1A", "PSS1A"}, {"TGOV1", "ST1A", "PSS1A"}, {"TGOV1", "SEXS", "IEEEST"}}) {
        Simulation s(controlled(governor, false, exciter, stabilizer));
        const MachineProbe g(s, 0);
        const double angle = g.angle();
        s.run(20000);
        EXPECT_NEAR(g.angle(), angle, 1e-9) << governor;
        EXPECT_NEAR(s.signal("G.speed"), 1, 1e-9);
        EXPECT_NEAR(s.signal("G.vt"), 1.01, 1e-9);
        EXPECT_NEAR(s.signal("G.pe"), 0.8, 1e-9);
        // No losses but those of the stator.
        EXPECT_NEAR(s.signal("G.pm"), 0.8 + 0.003 * std::norm(g.current()), 1e-4);
    }
}

void ride_through(const std::string& governor, const std::string& exciter, const std::string& stabilizer) {
    Simulation s(controlled(governor, true, exciter, stabilizer));
    const MachineProbe g(s, 0);
    s.run(3900);
    const double lowest = s.signal("G.vt"), fastest = s.signal("G.speed");
    EXPECT_LT(lowest, 0.2);
    EXPECT_GT(fastest, 1.003);
    s.run(20 * 20000 - 3900);
    EXPECT_NEAR(s.signal("G.vt"), 1.01, 2e-3);
    EXPECT_NEAR(s.signal("G.speed"), 1, 1e-4);
    EXPECT_EQ(s.engine().unsettled(), 0);
}

TEST(ControlledMachine, RidesThroughAFaultAndReturns) {
    ride_through("HYGOV", "ST1A", "PSS1A");
    ride_through("TGOV1", "SEXS", "IEEEST");
}

TEST(ControlledMachine, ALimitInTheWayOfTheStartIsNamed) {
    const std::string machine = synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"angle":0)"), load = R"(,{"type":"resistor","name":"R","buses":["A","0"],"r":10})";
    try {
        const Simulation s(make_case(machine + load + R"(,{"type":"exciter","name":"X","machine":"G","model":"AC1A","VRMIN":-0.1,"VRMAX":0.1})", 50e-6,
                                     R"("start":"steady","buses":["A"],)"));
        FAIL() << "was started";
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("block 'X.vr' of 'X' cannot start in the steady state"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("limited to -0.1 … 0.1 by 'VRMIN' and 'VRMAX'"), std::string::npos) << e.what();
    }
}

TEST(PowerFlow, MachinesHaveTheirPowerAndVoltage) {
    // A generator behind YgD, a condenser, and one that holds its angle, on two lines.
    const std::string line = R"("r1":0.3e-4,"l1":0.9e-6,"c1":13e-12,"r0":2e-4,"l0":3e-6,"c0":8e-12)";
    const auto of = [](const char* type, const std::string& name, const std::string& more) {
        return std::string(R"({"type":")") + type + R"(","name":")" + name + "\"," + more + "}";
    };
    const std::string bank = R"("connection":"DYg","v1":20e3,"v2":230e3,"r":0.02,"l":3e-3)";
    const Case c = parse_case(make_case(synchronous("G1", "A", kRound, R"("h":3,"x0":0.1,"v":20.4e3,"p":60e6)") + "," + synchronous("G2", "B", kSalient, R"("h":3,"x0":0.1,"v":20e3,"angle":30)") + "," +
        of("synchronous_condenser", "C", R"("bus":"D","h":1,"x0":0.1,"v":20.2e3,)" + kSalient) + "," + of("transformer", "T1", R"("primary":"A","secondary":"HA",)" + bank) + "," +
        of("transformer", "T2", R"("primary":"B","secondary":"HB",)" + bank) + "," + of("transformer", "T3", R"("primary":"D","secondary":"HD",)" + bank) + "," +
        of("coupled_rl", "L1", R"("from":"HA","to":"HB","r":[[2,0,0],[0,2,0],[0,0,2]],"l":[[0.05,0,0],[0,0.05,0],[0,0,0.05]])") + "," +
        of("coupled_rl", "L2", R"("from":"HB","to":"HD","r":[[2,0,0],[0,2,0],[0,0,2]],"l":[[0.05,0,0],[0,0.05,0],[0,0,0.05]])") + "," +
        of("resistor", "R", R"("buses":["HD","0"],"r":700)") + "," + of("inductor", "X", R"("buses":["HB","0"],"l":4)"),
        50e-6, R"("start":"steady","buses":["A","B","D","HA","HB","HD"],)"), "test");
    const std::vector<Complex> x = solve_phasors(c.network);
    const auto v = [&](int bus) { return x[static_cast<std::size_t>(3 * bus)]; };
    const auto i = [&](int m) { return x[static_cast<std::size_t>(c.network.nodes() + m)]; };
    EXPECT_NEAR(1.5 * (v(0) * std::conj(i(0))).real(), 60e6, 1);
    EXPECT_NEAR(std::abs(v(0)), 20.4e3 * std::sqrt(2.0 / 3), 1e-6);
    EXPECT_NEAR(std::abs(v(1) - std::polar(kVolt, std::numbers::pi / 6)), 0, 1e-6);
    EXPECT_NEAR(std::abs(v(2)), 20.2e3 * std::sqrt(2.0 / 3), 1e-6);
    EXPECT_NEAR(1.5 * (v(2) * std::conj(i(2))).real(), -1.5 * 0.003 * kOhm * std::norm(i(2)), 1);
    // Independently: what flows into G1's transformer, seen from its terminals, by the admittance of leakage and the high side.
    const double t = 2 / 50e-6 * std::tan(kOmega * 25e-6);
    const double ratio = 20e3 * std::sqrt(3) / 230e3;
    const Complex leakage = 1.0 / Complex(0.02, t * 3e-3), high = ratio * v(3);
    // Each winding of the delta: (V_a - V_b) - n·V_A with the leakage in series; the line's current is the difference of two.
    const auto winding = [&](Complex low, Complex next, Complex star) { return leakage * (low - next - star); };
    const Complex turn = std::polar(1.0, -2 * std::numbers::pi / 3);
    const Complex ab = winding(v(0), v(0) * turn, high), ca = winding(v(0) / turn, v(0), high / turn);
    EXPECT_NEAR(std::abs(ab - ca - i(0)), 0, 1e-6);
}

/// Without the refinement of its solutions the power flow stops 10⁻⁷ away: factors hold the machines' equations only to the rounding of
/// the large admittances.
TEST(PowerFlow, VerySmallImpedancesKeepItsEquations) {
    constexpr int kBuses = 24, kEvery = 4;
    std::string elements, buses;
    const auto branch = [&](const std::string& name, int from, int to, double x) {
        elements += R"({"type":"inductor","name":")" + name + R"(","buses":["B)" + std::to_string(from) + R"(","B)" + std::to_string(to) + R"("],"r":)" + number(0.02 * x * kOhm) +
                    R"(,"l":)" + number(x * kOhm / kOmega) + "},";
    };
    for (int b = 0; b < kBuses; ++b) {
        const std::string bus = "B" + std::to_string(b);
        buses += (b > 0 ? ",\"" : "\"") + bus + "\"";
        if (b > 0) branch("L" + std::to_string(b), b - 1, b, b % 2 == 0 ? 1e-9 : 0.05);
        if (b % 3 == 0 && b + 7 < kBuses) branch("M" + std::to_string(b), b, b + 7, 0.1);
        if (b % kEvery == 0) elements += synchronous("G" + std::to_string(b), bus, kRound, b == 0 ? R"("h":3,"v":20e3,"angle":0)" : R"("h":3,"v":20e3,"p":40e6)") + ",";
        elements += R"({"type":"resistor","name":"R)" + bus + R"(","buses":[")" + bus + R"(","0"],"r":40})" + (b + 1 < kBuses ? "," : "");
    }
    const Case c = parse_case(make_case(elements, 50e-6, R"("start":"steady","buses":[)" + buses + "],"), "test");
    const std::vector<Complex> x = solve_phasors(c.network);
    for (const SynchronousMachine& m : c.network.machines) {
        const Complex i = x[static_cast<std::size_t>(c.network.nodes() + m.number)];
        Complex v;  // positive sequence
        for (std::size_t k = 0; k < 3; ++k) v += std::polar(1.0 / 3, 2 * std::numbers::pi / 3 * static_cast<double>(k)) * x[static_cast<std::size_t>(m.node[k])];
        EXPECT_NEAR(std::abs(v) / kVolt, 1, 1e-11) << m.name;
        if (m.dispatch.holds_angle) continue;
        EXPECT_NEAR(1.5 * (v * std::conj(i)).real() / 40e6, 1, 1e-11) << m.name;
    }
}

/// The nine-bus system of P. M. Anderson, A. A. Fouad, Power System Control and Stability, 1977, ch. 2, at 230 kV throughout; its
/// loads as the impedances that take their power at the published voltages.
TEST(PowerFlow, NineBusesAsPublished) {
    constexpr double kBase = 230e3 * 230e3 / 100e6;
    struct Link { int from, to; double r, x, b; };  // per unit; b at each end
    constexpr Link kLinks[]{{1, 4, 0, 0.0576, 0}, {2, 7, 0, 0.0625, 0}, {3, 9, 0, 0.0586, 0}, {4, 5, 0.010, 0.085, 0.088}, {4, 6, 0.017, 0.092, 0.079},
                            {5, 7, 0.032, 0.161, 0.153}, {6, 9, 0.039, 0.170, 0.179}, {7, 8, 0.0085, 0.072, 0.0745}, {8, 9, 0.0119, 0.1008, 0.1045}};
    struct Bus { double v, degrees, p, q; };  // solution; load
    constexpr Bus kBuses[]{{1.04, 0, 0, 0}, {1.025, 9.280, 0, 0}, {1.025, 4.665, 0, 0}, {1.0258, -2.217, 0, 0}, {0.9956, -3.989, 1.25, 0.5}, {1.0127, -3.687, 0.9, 0.3},
                           {1.0258, 3.720, 0, 0}, {1.0159, 0.728, 1, 0.35}, {1.0324, 1.967, 0, 0}};
    std::string elements, buses;
    for (const Link& k : kLinks) {
        const std::string from = "B" + std::to_string(k.from), to = "B" + std::to_string(k.to), name = from + to;
        const auto diagonal = [](double x) { return "[[" + number(x) + ",0,0],[0," + number(x) + ",0],[0,0," + number(x) + "]]"; };
        elements += R"({"type":"coupled_rl","name":"L)" + name + R"(","from":")" + from + R"(","to":")" + to + R"(","r":)" + diagonal(k.r * kBase) + R"(,"l":)" + diagonal(k.x * kBase / kOmega) + "},";
        if (k.b > 0)
            for (const std::string& at : {from, to})
                elements += R"({"type":"capacitor","name":"C)" + name + at + R"(","buses":[")" + at + R"(","0"],"c":)" + number(k.b / kBase / kOmega) + "},";
    }
    for (int i = 0; i < 9; ++i) {
        const Bus& b = kBuses[i];
        const std::string bus = "B" + std::to_string(i + 1);
        buses += std::string(i > 0 ? "," : "") + "\"" + bus + "\"";
        if (b.p == 0) continue;
        elements += R"({"type":"resistor","name":"R)" + bus + R"(","buses":[")" + bus + R"(","0"],"r":)" + number(b.v * b.v / b.p * kBase) + R"(},{"type":"inductor","name":"X)" + bus + R"(","buses":[")" + bus +
                    R"(","0"],"l":)" + number(b.v * b.v / b.q * kBase / kOmega) + "},";
    }
    std::string data = kSalient;
    data.replace(data.find("20e3"), 4, "230e3");
    const Case c = parse_case(make_case(elements + synchronous("G1", "B1", data, R"("h":3,"v":239.2e3,"angle":0)") + "," + synchronous("G2", "B2", data, R"("h":3,"v":235.75e3,"p":163e6)") + "," +
        synchronous("G3", "B3", data, R"("h":3,"v":235.75e3,"p":85e6)"), 10e-6, R"("start":"steady","buses":[)" + buses + "],"), "test");
    const std::vector<Complex> x = solve_phasors(c.network);
    const double volt = 230e3 * std::sqrt(2.0 / 3);
    for (int i = 0; i < 9; ++i) {
        const Complex v = x[static_cast<std::size_t>(3 * i)] / volt;
        EXPECT_NEAR(std::abs(v), kBuses[i].v, 1e-4) << "bus " << i + 1;
        EXPECT_NEAR(std::arg(v) * 180 / std::numbers::pi, kBuses[i].degrees, 2e-3) << "bus " << i + 1;
    }
    const auto power = [&](int m) { return 1.5e-6 * x[static_cast<std::size_t>(3 * m)] * std::conj(x[static_cast<std::size_t>(c.network.nodes() + m)]); };
    EXPECT_NEAR(std::abs(power(0) - Complex(71.641, 27.046)), 0, 0.05);
    EXPECT_NEAR(power(1).imag(), 6.654, 0.05);
    EXPECT_NEAR(power(2).imag(), -10.860, 0.05);
}

TEST(PowerFlow, MachinesAtOneBusShareReactivePower) {
    std::string half = kSalient;
    half.replace(half.find("100e6"), 5, "50e6");
    const Case c = parse_case(make_case(synchronous("G1", "A", kSalient, R"("h":3,"v":20e3,"p":60e6)") + "," + synchronous("G2", "A", half, R"("h":3,"v":20e3,"p":10e6)") +
        R"(,{"type":"source","name":"E","bus":"A","amplitude":16e3,"r1":0.08,"l1":3e-3})", 50e-6, R"("start":"steady","buses":["A"],)"), "test");
    const std::vector<Complex> x = solve_phasors(c.network);
    const Complex s1 = 1.5 * x[0] * std::conj(x[3]), s2 = 1.5 * x[0] * std::conj(x[4]);
    EXPECT_NEAR(s1.real(), 60e6, 1);
    EXPECT_NEAR(s2.real(), 10e6, 1);
    EXPECT_NEAR(s1.imag() / 2, s2.imag(), 1);
    EXPECT_GT(std::abs(s1.imag()), 1e5);
}

std::string refusal(const std::string& elements) {
    try {
        const Case c = parse_case(make_case(elements, 50e-6, R"("start":"steady","buses":["A"],)"), "test");
        static_cast<void>(solve_phasors(c.network));
    } catch (const std::exception& e) {
        return e.what();
    }
    return "none";
}

TEST(PowerFlow, SaysWhatIsWrong) {
    const std::string source = R"(,{"type":"source","name":"E","bus":"A","amplitude":16.3e3,"r1":0.08,"l1":3e-3})", load = R"(,{"type":"resistor","name":"R","buses":["A","0"],"r":10})";
    EXPECT_NE(refusal(synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"p":60e6)") + load).find("no-angle"), std::string::npos);
    const std::string told = refusal(synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"p":900e6)") + source);
    EXPECT_NE(told.find("does not converge: after 40 iterations 'G' is off by"), std::string::npos) << told;
    const auto beside = [&](const char* angle) {
        return refusal(synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"angle":10)") + "," + synchronous("H", "A", kSalient, R"("h":3,"v":20e3,"angle":)" + std::string(angle)) + load);
    };
    EXPECT_NE(beside("12").find("machine 'H': [contradiction] holds another angle than 'G' at the same bus"), std::string::npos) << beside("12");
    EXPECT_EQ(beside("370").find("contradiction"), std::string::npos) << beside("370");
    EXPECT_NE(refusal(synchronous("G", "A", kSalient, R"("h":3,"v":20e3)") + source).find("needs 'p', or 'angle'"), std::string::npos);
    try {
        static_cast<void>(parse_case(make_case(synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"angle":0)") + load, 50e-6, R"("start":"zero","buses":["A"],)"), "test"));
        FAIL() << "a start from zero is accepted";
    } catch (const CaseError& e) {
        EXPECT_NE(std::string(e.what()).find("a machine needs \"start\": \"steady\""), std::string::npos) << e.what();
    }
    EXPECT_NE(refusal(synchronous("G", "A", kSalient, R"("h":3,"v":20e3,"angle":0,"s10":0.3)") + source).find("'s10' and 's12'"), std::string::npos);
    EXPECT_NE(refusal(synchronous("G", "A", kSalient, R"("shaft":[{"h":3},{"h":1,"generator":true,"share":1}],"v":20e3,"angle":0)") + source).find("needs a 'spring'"), std::string::npos);
    EXPECT_NE(refusal(synchronous("G", "A", kSalient, R"("shaft":[{"h":3,"generator":true,"share":1,"spin":1}],"v":20e3,"angle":0)") + source).find("shaft[0]: [unknown-key]"), std::string::npos);
}

}  // namespace
}  // namespace emt::test
