// The synchronous machine against closed forms and an independent integration.
#include <gtest/gtest.h>

#include <algorithm>

#include "benchmark_shaft.hpp"
#include "digests.hpp"
#include "elements/machine_parameters.hpp"
#include "machine_probe.hpp"
#include "machine_reference.hpp"
#include "network/phasor.hpp"

namespace emt::test {
namespace {

/// A machine beside a resistor and a source behind 0.02 + j0.3 per unit.
std::string one_machine(const std::string& machine_data, double dt, const std::string& extra = "") {
    return make_case(synchronous("G", "T", machine_data, R"("h":3,"v":20.4e3,"p":70e6)") +
                         R"(,{"type":"resistor","name":"R","buses":["T","0"],"r":20},
                          {"type":"source","name":"E","bus":"T","amplitude":)" + number(kVolt) + R"(,"phase":-20,"r1":0.08,"l1":)" + number(1.2 / kOmega) + "}" + extra,
                     dt, R"("start":"steady","buses":["T"],)");
}

TEST(Machine, AnExactCircuitHasTheParametersItWasMadeOf) {
    // X(jω) of the circuit at five frequencies against (1 + sT')(1 + sT'')/((1 + sT0')(1 + sT0'')) by the definition of X' and X''.
    const AxisParameters p{1.8, 0.3, 0.23, 8, 0.03, true};
    const auto circuit = rotor_circuit(p, 0.15, kOmega, Conversion::exact);
    ASSERT_TRUE(circuit);
    // T' and T'' by bisection on their two equations, X/X'·T' + (1 + X/X'' - X/X')·T'' = T0' + T0'' and T'·T'' = T0'·T0''·X''/X.
    const double a = p.x / p.x1, b = 1 + p.x / p.x2 - a, product = p.t1 * p.t2 * p.x2 / p.x;
    double low = std::sqrt(product), high = p.t1;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (a * middle + b * product / middle < p.t1 + p.t2 ? low : high) = middle;
    }
    for (const double w : {0.01, 0.3, 10.0, 400.0, 1e5}) {
        const Complex s(0, w);
        const Complex expected = p.x * (1.0 + s * low) * (1.0 + s * product / low) / ((1.0 + s * p.t1) * (1.0 + s * p.t2));
        Complex rotor = 1 / circuit->main;
        for (std::size_t i = 0; i < 2; ++i) rotor += s / kOmega / (circuit->r[i] + s / kOmega * circuit->l[i]);
        EXPECT_LT(std::abs(0.15 + 1.0 / rotor - expected), 1e-12) << w;
    }
}

TEST(Machine, SteadyStateDriftsLessThan1e9OverOneSecond) {
    for (const std::string& data : {kSalient, kRound, kRound + R"(,"s10":0.1,"s12":0.4)", kSalient + R"(,"s10":0.1,"s12":0.4,"x0":0.1)"}) {
        Simulation s(one_machine(data, 50e-6));
        const MachineProbe g(s, 0);
        const double angle = g.angle();
        const Complex v = solve_phasors(s.study().network)[0];
        s.run(20000);
        EXPECT_NEAR(g.angle(), angle, 1e-9) << data;
        EXPECT_NEAR(g.speed_deviation(), 0, 1e-9);
        EXPECT_NEAR(s.v("T.a"), (v * std::polar(1.0, kOmega * s.time())).real(), 1e-9 * kVolt);
        EXPECT_NEAR(g.published(1), 1.02, 1e-9);
        EXPECT_NEAR(g.published(2), 0.7, 1e-9);
        EXPECT_NEAR(g.published(3), g.field_voltage(), 1e-9);
    }
}

struct Difference {
    double current, angle;  // per unit, rad
};

/// A resistor of one per unit closes at 10 ms, beside the one of five; compared at 60 ms.
Difference against_reference(const std::string& data, double dt, const std::string& saturation = "") {
    Simulation s(one_machine(data + saturation, dt, R"(,{"type":"switch","name":"S","buses":["T","0"],"r_on":4,"operations":[{"time":0.01,"action":"close"}]})"));
    const MachineProbe g(s, 0);
    const SynchronousMachine& m = g.data();
    ReferenceMachine reference{kOmega, m.ra, m.xl, m.d.main, m.q.main, m.d.r, m.d.l, m.q.r, m.q.l, m.q.windings, m.saturation.a, m.saturation.b,
                               m.saturation.both_axes, 3, 5, 0.02, 0.3, {}, 0, 0};
    const Complex v = solve_phasors(s.study().network)[0] / kVolt, i = solve_phasors(s.study().network)[3] / kAmpere;
    // The network's source is given, the reference's follows from the same terminal voltage; the current is the continuous one.
    const Complex emf = std::polar(1.0, -20 * std::numbers::pi / 180);
    EXPECT_NEAR(std::abs(v / 5.0 - (emf - v) / Complex(0.02, 0.3) - i), 0, 1e-3);
    ReferenceMachine::State state = reference.steady(v, v / 5.0 - (emf - v) / Complex(0.02, 0.3));
    EXPECT_NEAR(std::abs(reference.emf - emf), 0, 1e-12);
    reference.shunt = 1 / (1 / 5.0 + 1);
    const double fine = 5e-6;
    for (int n = 0; n < 10000; ++n) reference.advance(state, fine);
    s.run(static_cast<int>(std::lround(0.06 / dt)));
    const Complex expected = reference.machine_current(state) * std::polar(1.0, kOmega * 0.06);
    return {std::abs(g.current_alpha_beta() - expected), std::abs(2 * std::numbers::pi * g.angle() - state[6])};
}

TEST(Machine, ErrorsAgainstAnIndependentIntegrationAreOfSecondOrder) {
    for (const auto& [data, saturation] : {std::pair(kSalient, ""), std::pair(kRound, ""), std::pair(kSalient, R"(,"s10":0.1,"s12":0.4)"),
                                           std::pair(kRound, R"(,"s10":0.1,"s12":0.4)")}) {
        const Difference coarse = against_reference(data, 50e-6, saturation), half = against_reference(data, 25e-6, saturation);
        std::printf("machine on a source, load switched on: current off by %.2e at 50 us, %.2e at 25 us; angle %.2e, %.2e rad\n", coarse.current,
                    half.current, coarse.angle, half.angle);
        EXPECT_LT(coarse.current, 1e-3);
        EXPECT_NEAR(coarse.current / half.current, 4, 0.4);
        EXPECT_NEAR(coarse.angle / half.angle, 4, 0.6);
    }
}

TEST(Machine, CurrentsBalanceAtTheTerminals) {
    // Only resistors: the machine's current must be theirs at every instant, whatever X''d and X''q, also after a fault of one phase.
    Simulation s(make_case(synchronous("G", "T", kSalient, R"("h":3,"v":20e3,"angle":10)") +
                               R"(,{"type":"resistor","name":"R","buses":["T","0"],"r":5},{"type":"fault","name":"F","bus":"T","kind":"ag","r":0.5,"start":0.01})",
                           50e-6, R"("start":"steady","buses":["T"],)"));
    const MachineProbe g(s, 0);
    for (int n = 1; n < 1000; ++n) {
        s.run(1);
        const auto i = [&](const char* node, double conductance) { return s.v(node) * conductance / kAmpere; };
        const double a = i("T.a", n > 200 ? 2.2 : 0.2), b = i("T.b", 0.2), c = i("T.c", 0.2);
        ASSERT_NEAR(a + b + c, 0, 1e-11) << n;  // isolated neutral
        ASSERT_NEAR(std::abs(g.current_alpha_beta() - Complex(a, (b - c) / std::sqrt(3.0))), 0, 1e-11) << n;
    }
    EXPECT_GT(std::abs(g.current()), 0.5);
}

/// Two machines of half the rating at buses that a resistance joins, symmetrical about its middle, or one that stands for both.
std::string halves(bool both) {
    std::string half = kSalient;
    half.replace(half.find("100e6"), 5, "50e6");
    const auto side = [&](const std::string& n, const std::string& data, double scale) {
        return synchronous("G" + n, "T" + n, data, R"("h":3,"v":20e3,"angle":10)") + R"(,{"type":"resistor","name":"R)" + n + R"(","buses":["T)" + n + R"(","0"],"r":)" + number(12 * scale) +
               R"(},{"type":"resistor","name":"S)" + n + R"(","buses":["T)" + n + R"(","M"],"r":)" + number(2 * scale) + "}";
    };
    return make_case((both ? side("1", half, 1) + "," + side("2", half, 1) : side("1", kSalient, 0.5)) +
                         R"(,{"type":"resistor","name":"R","buses":["M","0"],"r":9},{"type":"fault","name":"F","bus":"M","kind":"abg","r":0.5,"start":0.01,"stop":0.1})",
                     50e-6, both ? R"("start":"steady","buses":["T1","T2","M"],)" : R"("start":"steady","buses":["T1","M"],)");
}

TEST(Machine, TwoHalvesInOneTaskAreOneWhole) {
    Simulation one(halves(false)), two(halves(true));
    EXPECT_EQ(two.parts().tasks.size(), 1U);
    double swing = 0;
    for (int n = 0; n < 4000; ++n) {
        one.run(1);
        two.run(1);
        ASSERT_NEAR(two.v("M.c"), one.v("M.c"), 1e-8 * kVolt) << n;
        ASSERT_NEAR(two.v("T2.a"), one.v("T1.a"), 1e-8 * kVolt) << n;
        swing = std::max(swing, std::abs(MachineProbe(two, 1).speed_deviation()));
    }
    EXPECT_GT(swing, 1e-3);
}

TEST(Machine, ASparseTaskGivesWhatADenseOneGives) {
    // A chain of resistances that ends nowhere carries no current, but makes 51 nodes of 6.
    std::string chain = halves(false), buses;
    std::string more;
    for (int i = 0; i < 15; ++i) {
        const std::string name = "C" + std::to_string(i), before = i == 0 ? "T1" : "C" + std::to_string(i - 1);
        more += R"({"type":"resistor","name":"X)" + name + R"(","buses":[")" + before + "\",\"" + name + R"("],"r":1},)";
        buses += ",\"" + name + "\"";
    }
    chain.insert(chain.find(R"("elements":[)") + 12, more);
    chain.insert(chain.find(R"("M"],)") + 3, buses);
    Simulation dense(halves(false)), sparse(chain);
    EXPECT_TRUE(sparse.engine().batches().front().sparse());
    for (int n = 0; n < 3000; ++n) {
        dense.run(1);
        sparse.run(1);
        ASSERT_NEAR(sparse.v("M.c"), dense.v("M.c"), 1e-7 * kVolt) << n;
    }
}

/// Islands of different machines, which have not the same numbers in their tasks: they go into one batch.
std::string islands() {
    const auto island = [](const std::string& n, const std::string& machines) {
        return machines + R"(,{"type":"resistor","name":"R)" + n + R"(","buses":["T)" + n + R"(","0"],"r":8},{"type":"inductor","name":"L)" + n + R"(","buses":["T)" + n +
               R"(","0"],"l":0.05},{"type":"arrester","name":"A)" + n + R"(","buses":["T)" + n + R"(","0"],"curve":[[15e3,1],[18e3,2000]]},{"type":"fault","name":"F)" + n + R"(","bus":"T)" + n +
               R"(","kind":"ag","r":0.1,"start":0.0)" + n + R"(,"stop":0.05})";
    };
    const std::string shaft = R"("shaft":[{"h":2,"share":1,"spring":40,"spring_damping":0.1},{"h":1,"generator":true}],)";
    return make_case(island("1", synchronous("G1", "T1", kSalient, R"("h":3,"v":20e3,"angle":10)")) + "," +
                         island("2", synchronous("G2", "T2", kRound + R"(,"s10":0.1,"s12":0.4)", shaft + R"("v":20e3,"angle":40)") + "," +
                                         synchronous("G3", "T2", kSalient + R"(,"x0":0.1)", R"("h":3,"v":20e3,"angle":40)") +
                                         R"(,{"type":"resistor","name":"X","buses":["X2","T2"],"r":2},{"type":"resistor","name":"Y","buses":["X2","0"],"r":40})") + "," +
                         island("3", synchronous("G4", "T3", kRound, R"("h":3,"v":20e3,"angle":-100)")),
                     50e-6, R"("start":"steady","buses":["T1","X2","T2","T3"],)");
}

TEST(Machine, BitsDoNotDependOnInstructionSetOrNeighbours) {
    EXPECT_EQ(expect_same_bits_alone(islands(), 1500).size(), 3U);
}

TEST(Machine, SaturationHoldsTheOpenCircuitCurve) {
    // E_fd = ψ + B·(ψ - A)² at no load.
    for (const double v : {0.8, 1.0, 1.1, 1.2}) {
        Simulation s(make_case(synchronous("G", "T", kRound + R"(,"s10":0.1,"s12":0.4,"x0":0.1)", R"("h":3,"angle":0,"v":)" + number(v * 20e3)) +
                                   R"(,{"type":"resistor","name":"R","buses":["T","0"],"r":1e9})", 50e-6, R"("start":"steady","buses":["T"],)"));
        const MachineProbe g(s, 0);
        const double ratio = std::sqrt(1.2 * 0.4 / 0.1), a = (ratio - 1.2) / (ratio - 1), b = 0.1 / ((1 - a) * (1 - a));
        const double flux = v * kOmega * 50e-6 / 2 / std::tan(kOmega * 50e-6 / 2), expected = flux + (flux > a ? b * (flux - a) * (flux - a) : 0);
        EXPECT_NEAR(g.field_voltage(), expected, 1e-8) << v;
        if (v > 0.9) {
            EXPECT_NEAR(expected, v == 1.0 ? 1.1 : v == 1.2 ? 1.2 * 1.4 : expected, 1e-3);
        }
        s.run(2000);
        EXPECT_NEAR(g.published(1), v, 1e-9);
    }
}

/// T' and T'' of a short circuit (I. M. Canay, Proc. IEE 130 B(4), 1983).
std::pair<double, double> short_circuit_times(const AxisParameters& p) {
    const double a = p.x / p.x1, b = 1 + p.x / p.x2 - a, sum = p.t1 + p.t2, product = p.t1 * p.t2 * p.x2 / p.x;
    const double first = (sum + std::sqrt(sum * sum - 4 * a * b * product)) / (2 * a);
    return {first, product / first};
}

/// Largest difference of i_d and i_q over 0.5 s, per unit, when an unloaded machine at 1 per unit is shorted at t = 0.
double short_circuit_error(double subtransient_s, double dt) {
    const AxisParameters d{1.1, 0.3, 0.22, 6, subtransient_s, true};
    Simulation s(make_case(R"({"type":"synchronous_machine","name":"G","bus":"T","rated_power":100e6,"rated_voltage":20e3,"ra":0.001,"xl":0.12,"xd":1.1,"xd1":0.3,"xd2":0.22,
        "xq":0.7,"xq2":0.29,"td10":6,"td20":)" + number(subtransient_s) + R"(,"tq20":)" + number(2 * subtransient_s) + R"(,"h":1e6,"v":20e3,"angle":30},
        {"type":"resistor","name":"R","buses":["T","0"],"r":1e7},{"type":"switch","name":"S","buses":["T","0"],"r_on":1e-7,"operations":[{"time":0,"action":"close"}]})",
                           dt, R"("start":"steady","buses":["T"],)"));
    const MachineProbe g(s, 0);
    const auto [t1, t2] = short_circuit_times(d);
    const double ta = 2 * 0.22 * 0.29 / (kOmega * 0.001 * (0.22 + 0.29));
    double error = 0;
    while (s.time() < 0.5) {
        s.run(1);
        const double t = s.time(), wt = kOmega * t, dc = std::exp(-t / ta);
        const double id = 1 / 1.1 + (1 / 0.3 - 1 / 1.1) * std::exp(-t / t1) + (1 / 0.22 - 1 / 0.3) * std::exp(-t / t2) - dc / 0.22 * std::cos(wt);
        const double iq = dc / 0.29 * std::sin(wt);
        error = std::max(error, std::abs(g.current() - Complex(id, iq)));
    }
    return error;
}

TEST(Machine, ASuddenShortCircuitFollowsItsClosedForm) {
    // P. Kundur, Power System Stability and Control, 1994, section 3.6 and 4.2: in the rotor's coordinates, where the alternating
    // component is a constant, the direct one turns once a cycle and the second harmonic is the difference of both axes.
    // The formula takes the rotor's circuits for superconducting within a cycle: its error falls with 1/(ωT'').
    const double near = short_circuit_error(0.05, 50e-6), far = short_circuit_error(0.5, 50e-6);
    std::printf("short circuit: off by %.4f per unit of 8.6 with T''d0 = 0.05 s, by %.4f with 0.5 s\n", near, far);
    // The step has no part in it.
    EXPECT_NEAR(short_circuit_error(0.05, 10e-6), near, 0.02 * near);
    EXPECT_LT(near, 0.3);
    EXPECT_LT(far, 0.04);
}

/// Frequencies of the five modes after the machine has lost its load, seen by projection on each mode.
std::array<double, 5> torsional_frequencies(double dt, const Eigen::Matrix<double, 6, 6>& modes) {
    Simulation s(make_case(synchronous("G", "T", kRound, benchmark_shaft() + R"(,"v":20e3,"angle":0)") +
                               R"(,{"type":"resistor","name":"R","buses":["T","0"],"r":1e9},{"type":"switch","name":"S","buses":["T","0"],"r_on":5,"closed":true,"operations":[{"time":0.01,"action":"open"}]})",
                           dt, R"("start":"steady","buses":["T"],)"));
    const MachineProbe g(s, 0);
    std::array<std::vector<double>, 5> q;
    s.run(static_cast<int>(std::lround(0.02 / dt)));
    for (int n = 0; n < static_cast<int>(std::lround(0.5 / dt)); ++n) {
        s.run(1);
        for (int m = 0; m < 5; ++m) {
            double sum = 0;
            for (int i = 0; i < 6; ++i) sum += modes(i, m + 1) * kInertia[static_cast<std::size_t>(i)] * g.angle(i);
            q[static_cast<std::size_t>(m)].push_back(sum);
        }
    }
    // A cosine about a mean: differences over h steps have none, and d(t+h) + d(t-h) = 2·cos(ωh)·d(t).
    std::array<double, 5> out{};
    for (std::size_t m = 0; m < 5; ++m) {
        const auto h = static_cast<std::size_t>(std::lround(0.25 / (kModes[m] * dt)));
        double product = 0, square = 0;
        const auto d = [&](std::size_t n) { return q[m][n + h] - q[m][n]; };
        for (std::size_t n = h; n + 2 * h < q[m].size(); ++n) {
            product += (d(n + h) + d(n - h)) / 2 * d(n);
            square += d(n) * d(n);
        }
        out[m] = std::acos(product / square) / (2 * std::numbers::pi * static_cast<double>(h) * dt);
    }
    return out;
}

TEST(Machine, TorsionalFrequenciesOfTheFirstBenchmarkModel) {
    const auto eigen = benchmark_modes();
    const double dt = 50e-6;
    const auto seen = torsional_frequencies(dt, eigen.eigenvectors()), fine = torsional_frequencies(dt / 2, eigen.eigenvectors());
    for (int m = 0; m < 5; ++m) {
        const double f = std::sqrt(eigen.eigenvalues()[m + 1]) / (2 * std::numbers::pi), now = seen[static_cast<std::size_t>(m)];
        std::printf("torsional mode %d: %.5f Hz, eigenvalue %.5f, off by %.1e of itself, order %.2f\n", m + 1, now, f, std::abs(now / f - 1),
                    std::log2(std::abs((now - f) / (fine[static_cast<std::size_t>(m)] - f))));
        EXPECT_NEAR(f, kModes[static_cast<std::size_t>(m)], 0.01);
        // Verlet's method: sin(ω'Δt/2) = ωΔt/2.
        EXPECT_NEAR(now, std::asin(std::numbers::pi * f * dt) / (std::numbers::pi * dt), 1e-6);
    }
}

}  // namespace
}  // namespace emt::test
