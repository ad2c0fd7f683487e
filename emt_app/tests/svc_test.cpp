// Static var compensators and their parts, against closed forms and differential equations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kPi = std::numbers::pi, kOmega = 2 * kPi * 60;

void print(const char* what, double number) { std::printf("    %s: %.3g\n", what, number); }

std::string number(double x) {
    char out[40];
    std::snprintf(out, sizeof out, "%.17g", x);
    return out;
}
std::string constant(const std::string& name, double value) {
    return R"({"type":"block","name":")" + name + R"(","kind":"constant","value":)" + number(value) + "},";
}

// Gates.

/// 100 V into thyristors, R and L in series, fired at α: per half cycle, with φ from the zero of the voltage and tan ψ = ωL/R,
/// i = V/Z·(sin(φ - ψ) - sin(α - ψ)·exp(-(φ - α)/tan ψ)) until it is zero.
struct Fired {
    double alpha, r = 5 + 1e-3 + 1e-6, l = 0.03;
    [[nodiscard]] double current(double t) const {
        const double z = std::hypot(r, kOmega * l), psi = std::atan2(kOmega * l, r);
        double phi = std::fmod(kOmega * t, 2 * kPi);
        if (kOmega * t < alpha) return 0;
        const double sign = phi >= alpha && phi < alpha + kPi ? 1 : -1;
        phi = std::fmod(kOmega * t - alpha, kPi) + alpha;
        const auto pulse = [&](double at) { return std::sin(at - psi) - std::sin(alpha - psi) * std::exp(-(at - alpha) / std::tan(psi)); };
        for (double at = alpha + 0.01; at < phi; at += 0.01)
            if (pulse(at) < 0) return 0;
        return std::max(0.0, pulse(phi)) * sign * 100 / z;
    }
    [[nodiscard]] Simulation simulation(double dt, const std::string& valves) const {
        return Simulation(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1e-6,"amplitude":100,"phase":-90},)" + constant("angle", 0.25) +
                                        constant("rate", 60) + constant("alpha", alpha * 180 / kPi) + valves + R"(,
                                  {"type":"inductor","name":"L","nodes":["a","b"],"l":0.03},
                                  {"type":"resistor","name":"R","nodes":["b","0"],"r":5})", dt, R"("start":"zero","nodes":["s","a","b"],)"));
    }
    static std::string pair(double end = 175) {
        return R"({"type":"block","name":"g","kind":"firing","angle":"angle","rate":"rate","delay":"alpha","phase":-90,"end":)" + number(end) + R"(},
                  {"type":"thyristor_pair","name":"T","nodes":["s","a"],"gate":"g"})";
    }
    [[nodiscard]] double error(double dt) const {
        Simulation s = simulation(dt, pair());
        double worst = 0;
        for (int i = static_cast<int>(std::lround(0.05 / dt)); i > 0; --i) {
            s.run(1);
            worst = std::max(worst, std::abs(s.v("b") - 5 * current(s.time())));
        }
        return worst;
    }
};

TEST(Gates, PulsesOfASignalBeginInsideTheStep) {
    const Fired circuit{100.3 * kPi / 180};
    const double coarse = circuit.error(50e-6), fine = circuit.error(25e-6);
    print("largest error of 5 ohm times the current, V", coarse);
    print("order", std::log2(coarse / fine));
    EXPECT_LT(coarse, 0.02);
    EXPECT_NEAR(coarse / fine, 4, 1);
}

TEST(Gates, PulsesKeepTheirInstantBesideASwitching) {
    // A switch of no consequence closes at the beginning of the step in which the pair is fired first: the step begins as two halves.
    const Fired circuit{100.3 * kPi / 180};
    const double fired = circuit.alpha / kOmega, step = std::floor(fired / 50e-6) * 50e-6;
    Simulation alone = circuit.simulation(50e-6, Fired::pair()),
               beside = circuit.simulation(50e-6, Fired::pair() + R"(,{"type":"switch","name":"S","nodes":["b","0"],"r_on":1e9,"operations":[{"time":)" + number(step) +
                                                      R"(,"action":"close"}]})");
    double worst = 0;
    for (int i = 0; i < 300; ++i) {
        alone.run(1);
        beside.run(1);
        worst = std::max(worst, std::abs(alone.v("b") - beside.v("b")));
    }
    EXPECT_LT(worst, 1e-3);
}

TEST(Gates, APairIsTwoThyristors) {
    const auto one = [](const std::string& name, const std::string& ends, double phase) {
        return R"({"type":"block","name":"g)" + name + R"(","kind":"firing","angle":"angle","rate":"rate","delay":"alpha","period":360,"end":175,"phase":)" + number(phase) +
               R"(},{"type":"thyristor","name":")" + name + R"(","nodes":[)" + ends + R"(],"gate":"g)" + name + R"("})";
    };
    for (const double degrees : {85.0, 100.0, 150.0}) {
        const Fired circuit{degrees * kPi / 180};
        Simulation pair = circuit.simulation(50e-6, Fired::pair()),
                   two = circuit.simulation(50e-6, one("P", R"("s","a")", -90) + "," + one("N", R"("a","s")", 90));
        for (int i = 0; i < 2000; ++i) {
            pair.run(1);
            two.run(1);
            ASSERT_NEAR(pair.v("b"), two.v("b"), 1e-7) << degrees << " " << i;
        }
    }
}

TEST(Gates, APairConductsWithoutAGapWhileItsGateIsOn) {
    // Always on: the same as a closed switch, to the last bit but for the instant of closing.
    Simulation s = Fired{0.5}.simulation(50e-6, constant("on", 0) + R"({"type":"thyristor_pair","name":"T","nodes":["s","a"],"gate":"on"})"),
               other = Fired{0.5}.simulation(50e-6, R"({"type":"resistor","name":"T","nodes":["s","a"],"r":1e-3})");
    s.run(2000);
    other.run(2000);
    for (int i = 0; i < 400; ++i) {
        s.run(1);
        other.run(1);
        ASSERT_NEAR(s.v("b"), other.v("b"), 1e-6);
    }
}

TEST(Gates, AGentlePairWaitsForAZeroOrAMinimumOfItsVoltage) {
    // A capacitor behind it: at first without charge, then charged beyond the crest of the source.
    for (const auto& [charge, expected] : {std::pair(0.0, 0.0), std::pair(110.0, 10.0)}) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":0.1,"amplitude":100,"phase":-60},)"
                               R"({"type":"block","name":"g","kind":"step","value":2,"amplitude":-2,"time":0.02},)"
                               R"({"type":"thyristor_pair","name":"T","nodes":["s","a"],"gate":"g","gentle_below":50},
                                  {"type":"capacitor","name":"C","nodes":["a","0"],"c":1e-4})", 50e-6,
                               R"("start":"zero","initial_voltage":{"a":)" + number(charge) + R"(},"nodes":["s","a"],)"));
        double before = 0, across = 0;
        bool closed = false;
        for (int i = 0; i < 1000; ++i) {
            s.run(1);
            across = std::abs(s.v("s") - s.v("a"));
            if (across < 0.02 && s.time() > 0.0199) {
                closed = true;
                break;
            }
            before = across;
        }
        EXPECT_TRUE(closed);
        EXPECT_NEAR(before, expected, 2) << charge;
    }
}

TEST(Gates, ProblemsAreNamed) {
    const auto problem = [](const std::string& element) {
        try {
            Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1,"amplitude":100},)" + element, 50e-6, R"("start":"zero","nodes":["s","a"],)"));
        } catch (const CaseError& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_NE(problem(R"({"type":"thyristor_pair","name":"T","nodes":["s","0"],"gate":"nobody"})").find("signal 'nobody'"), std::string::npos);
    EXPECT_NE(problem(R"({"type":"thyristor_pair","name":"T","nodes":["s","0"]})").find("needs the number 'start'"), std::string::npos);
    EXPECT_NE(problem(R"({"type":"thyristor","name":"T","nodes":["s","0"],"gate":"g","width":1},)" + constant("g", 0) + R"({"type":"resistor","name":"R","nodes":["s","0"],"r":1})")
                  .find("does not know the key 'width'"), std::string::npos);
    EXPECT_NE(problem(R"({"type":"block","name":"F","kind":"firing","angle":"x","rate":"x","delay":"x","end":190})").find("not above 'period'"), std::string::npos);
}

// Phase-locked loop.

/// Two sources at one bus, the second a quarter turn ahead and beginning at 15 ms: the angle steps by `jump`.
std::string loop_case(double frequency, double jump, double dt) {
    const auto source = [&](const char* name, double amplitude, double phase, const std::string& more) {
        return std::string(R"({"type":"source","name":")") + name + R"(","bus":"B","r1":1,"l1":0,"frequency":)" + number(frequency) + R"(,"amplitude":)" + number(amplitude) +
               R"(,"phase":)" + number(phase) + more + "},";
    };
    return make_case(source("E", 2000, 0, "") + source("Q", 2000 * std::tan(jump), 90, R"(,"start":0.015)") +
                         R"({"type":"phase_locked_loop","name":"P","bus":"B","rated_voltage":1224.744871391589})", dt, R"("start":"zero","buses":["B"],)");
}

/// δ, turns, by a method of Runge and Kutta of fourth order, every 10 ms until 0.4 s; the angle of the voltage is
/// offset·t and jumps by `jump` turns at 15 ms.
std::vector<double> locked(double offset, double jump) {
    const double kp = 2 * std::numbers::sqrt2 / 2 * 8, ki = 2 * kPi * 64, h = 1e-6;
    std::array<double, 2> x{0, 0};
    std::vector<double> out;
    double jumped = 0;
    const auto f = [&](double t, const std::array<double, 2>& at) {
        const double e = std::sin(2 * kPi * (offset * t + jumped - at[0]));
        return std::array<double, 2>{kp * e + at[1], ki * e};
    };
    for (int n = 0; n < 400000; ++n) {
        const double t = n * h;
        if (n == 15000) jumped = jump;
        if (n % 10000 == 0) out.push_back(x[0]);
        const auto k1 = f(t, x), k2 = f(t + h / 2, {x[0] + h / 2 * k1[0], x[1] + h / 2 * k1[1]}), k3 = f(t + h / 2, {x[0] + h / 2 * k2[0], x[1] + h / 2 * k2[1]}),
                   k4 = f(t + h, {x[0] + h * k3[0], x[1] + h * k3[1]});
        for (std::size_t i = 0; i < 2; ++i) x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    return out;
}

double loop_error(double frequency, double jump, double dt, double* last_frequency = nullptr) {
    Simulation s(loop_case(frequency, jump, dt));
    const std::vector<double> exact = locked(frequency - 60, jump / (2 * kPi));
    double worst = 0;
    s.run(1);
    for (std::size_t k = 0; k < exact.size(); ++k) {
        if (k > 0) s.run(static_cast<int>(std::lround(0.01 / dt)));
        worst = std::max(worst, std::abs(s.signal("P.angle") - exact[k]));
    }
    if (last_frequency != nullptr) *last_frequency = s.signal("P.frequency");
    return worst;
}

TEST(PhaseLockedLoops, FollowStepsOfThePhaseAsTheirEquationsDo) {
    const double coarse = loop_error(60, kPi / 6, 1e-4), fine = loop_error(60, kPi / 6, 5e-5);
    print("step of 30°, largest error at 50 us, turns", fine);
    print("order", std::log2(coarse / fine));
    EXPECT_LT(fine, 1e-5);
    EXPECT_NEAR(coarse / fine, 4, 0.8);
}

TEST(PhaseLockedLoops, FindTheFrequency) {
    double found = 0;
    const double coarse = loop_error(61, 0, 1e-4), fine = loop_error(61, 0, 5e-5, &found);
    print("1 Hz more, largest error at 50 us, turns", fine);
    print("order", std::log2(coarse / fine));
    EXPECT_LT(fine, 1e-6);
    EXPECT_NEAR(coarse / fine, 4, 0.8);
    EXPECT_NEAR(found, 61, 1e-4);
}

TEST(PhaseLockedLoops, ASmallStepIsThatOfTheLinearLoop) {
    // δ - φ = -φ₀·exp(-ζω·t)·(cos ω_d·t - ζω/ω_d·sin ω_d·t) from s²/(s² + 2ζω·s + ω²).
    Simulation s(loop_case(60, 0.01, 5e-5));
    const double w = 2 * kPi * 8, zeta = std::numbers::sqrt2 / 2, wd = w * std::sqrt(1 - zeta * zeta);
    s.run(301);
    for (int n = 1; n <= 2000; ++n) {
        s.run(1);
        const double t = n * 5e-5;
        const double left = std::exp(-zeta * w * t) * (std::cos(wd * t) - zeta * w / wd * std::sin(wd * t));
        ASSERT_NEAR(s.signal("P.angle") * 2 * kPi, 0.01 * (1 - left), 2e-6) << t;
    }
}

// The compensator.

constexpr double kV = 22e3, kPeak = 22e3 * 0.81649658092772603, kBase = 100e6, kZ = kV * kV / kBase;

struct Study {
    double frequency = 60, dt = 5e-5;
    double r = 0.005, x = 0.08;  // of the source, per unit
    std::string svc;             // keys
    std::string more{};          // elements
    std::string start = "steady";
    double w = 1e-3;             // ohm, where the current is measured
    [[nodiscard]] std::string text() const {
        const double omega = 2 * kPi * frequency;
        return R"({"format":"kappa-emt-case","version":1,"frequency":)" + number(frequency) + R"(,"dt":)" + number(dt) + R"(,"start":")" + start +
               R"(","buses":["S","B"],"elements":[{"type":"source","name":"E","bus":"S","amplitude":)" + number(kPeak) + R"(,"r1":)" + number(r * kZ) + R"(,"l1":)" +
               number(x * kZ / omega) + R"(},{"type":"resistor","name":"W","buses":["S","B"],"r":)" + number(w) + "}," + more +
               R"({"type":"svc","name":"SVC","bus":"B","rated_voltage":22e3,"rated_power":100e6,)" + svc + "}]}";
    }
};

/// A step of the regulator's order.
std::string order(double amplitude, double time) {
    return R"({"type":"block","name":"order","kind":"step","amplitude":)" + number(amplitude) + R"(,"time":)" + number(time) + "},";
}

/// L. Gyugyi 1979; Miller 1982, ch. 4: amplitude of the n-th harmonic of a reactor's current, relative to full conduction.
double reactor_harmonic(int n, double alpha) {
    if (n == 1) return (2 * (kPi - alpha) + std::sin(2 * alpha)) / kPi;
    return std::abs(4 / kPi * (std::cos(alpha) * std::sin(n * alpha) - n * std::sin(alpha) * std::cos(n * alpha)) / (n * (n * n - 1.0)));
}

/// Amplitudes of the harmonics of the current of phase a, A, over one cycle; whole steps per cycle.
std::vector<std::complex<double>> harmonics(Simulation& s, double frequency, int most) {
    const int cycle = static_cast<int>(std::lround(1 / (frequency * s.dt())));
    std::vector<std::complex<double>> sum(static_cast<std::size_t>(most) + 1);
    for (int i = 0; i < cycle; ++i) {
        s.run(1);
        const double current = (s.v("S.a") - s.v("B.a")) / 1e-4;
        for (int n = 1; n <= most; ++n) sum[static_cast<std::size_t>(n)] += 2.0 / cycle * current * std::polar(1.0, -2 * kPi * frequency * n * s.time());
    }
    return sum;
}

/// Harmonics of the line current of reactors of 0.6 per unit behind a stiff source, the order being held by its limits.
struct DeltaOfReactors {
    double worst = 0, triplen = 0;  // largest error, and largest of those that stay in the delta, of full conduction
    double angle = 0;               // by how much the susceptance at the table's angle is not what was ordered, per unit

    explicit DeltaOfReactors(double dt) {
        for (const double b : {-0.1, -0.2, -0.35, -0.5}) {
            const std::string keys = R"("tcr":60e6,"tcr_quality":1e6,"b_min":)" + number(b) + R"(,"b_max":)" + number(b) + R"(,"susceptance":)" + number(b);
            Simulation s(Study{.frequency = 50, .dt = dt, .r = 1e-6, .x = 1e-5, .svc = keys, .w = 1e-4}.text());
            s.run(static_cast<int>(std::lround(0.2 / dt)));
            const auto found = harmonics(s, 50, 13);
            const double alpha = s.signal("SVC.alpha") * kPi / 180, full = 0.6 * kBase / (1.5 * kPeak);  // A, peak, of a line
            const auto of_full = [&](int n) { return std::abs(found[static_cast<std::size_t>(n)]) / full; };
            for (const int n : {1, 5, 7, 11, 13}) worst = std::max(worst, std::abs(of_full(n) - reactor_harmonic(n, alpha)));
            for (const int n : {3, 9}) triplen = std::max(triplen, of_full(n));
            angle = std::max(angle, std::abs(reactor_harmonic(1, alpha) * 0.6 + b));
        }
    }
};

TEST(Compensators, HarmonicsOfTheReactorsInDelta) {
    const DeltaOfReactors coarse(1e-4), fine(5e-5);
    print("harmonics 1 to 13 of the line current, largest error, of full conduction", fine.worst);
    print("order", std::log2(coarse.worst / fine.worst));
    print("harmonics 3 and 9", fine.triplen);
    print("susceptance by the angle of the table, largest error, per unit", fine.angle);
    EXPECT_LT(fine.worst, 1e-3);
    EXPECT_NEAR(coarse.worst / fine.worst, 4, 1);
    EXPECT_LT(fine.triplen, 1e-3);
    EXPECT_LT(fine.angle, 1e-3);
}

/// Largest difference of voltages between cycles 1 s apart, per unit.
double drift_over_a_second(const std::string& svc, std::initializer_list<const char*> signals = {}) {
    Simulation s(Study{.frequency = 50, .svc = svc}.text());
    std::vector<double> first;
    double worst = 0;
    const auto cycle = [&](bool compare) {
        std::size_t k = 0;
        const auto take = [&](double value, double base) {
            if (compare) worst = std::max(worst, std::abs(value - first[k++]) / base);
            else first.push_back(value);
        };
        for (int i = 0; i < 400; ++i) {
            s.run(1);
            for (const char* node : {"B.a", "B.b", "B.c", "SVC.tcr_ab"}) take(s.v(node), kPeak);
            for (const char* signal : signals) take(s.signal(signal), 1);
        }
    };
    cycle(false);
    s.run(20000 - 400);
    cycle(true);
    EXPECT_EQ(s.engine().unsettled(), 0);
    return worst;
}

TEST(Compensators, StandStillWithThyristorsOffOrFullyConducting) {
    const std::string tsc = R"("tcr":60e6,"tsc":[50e6,40e6])";
    for (const auto& [what, keys] : {std::pair<const char*, std::string>{"all off", R"("tcr":60e6,"susceptance":0)"},
                                     {"all off, with capacitors", tsc + R"(,"susceptance":0)"},
                                     {"reactors fully conducting", tsc + R"(,"susceptance":-0.6)"},
                                     {"one bank of two on", tsc + R"(,"susceptance":0.5)"},
                                     {"both banks on", tsc + R"(,"susceptance":0.9,"kp":1)"}}) {
        const double drift = drift_over_a_second(keys, {"SVC.b", "SVC.v", "SVC.angle"});
        print(what, drift);
        EXPECT_LT(drift, 1e-9) << what;
    }
}

/// Relative change of the r.m.s. voltage between a cycle and the next, the largest of a second.
double rms_drift(const Study& study, int window, double run_in_s) {
    Simulation s(study.text());
    const int begin = static_cast<int>(std::lround(run_in_s / study.dt));
    s.run(begin);
    double last = 0, worst = 0;
    for (int k = 0; k * window * study.dt < 1; ++k) {
        double sum = 0;
        for (int i = 0; i < window; ++i) {
            s.run(1);
            sum += s.v("B.a") * s.v("B.a");
        }
        const double rms = std::sqrt(sum / window);
        if (k > 0) worst = std::max(worst, std::abs(rms / last - 1));
        last = rms;
    }
    EXPECT_EQ(s.engine().unsettled(), 0);
    const double alpha = s.signal("SVC.alpha");
    EXPECT_TRUE(alpha > 91 && alpha < 174) << alpha;
    return worst;
}

TEST(Compensators, SettleWhereTheyFire) {
    const std::string tsc = R"("tcr":60e6,"tsc":[50e6],"susceptance":)";
    for (const auto& [what, keys] : {std::pair<const char*, std::string>{"-0.1 per unit", tsc + "-0.1"}, {"-0.3 per unit", tsc + "-0.3"}, {"0.3 per unit", tsc + "0.3"}}) {
        const double at50 = rms_drift({.frequency = 50, .svc = keys}, 400, 1), at60 = rms_drift({.svc = keys}, 1000, 1);
        print(what, at50);
        print("  60 Hz, over three cycles, which are 1000 steps", at60);
        EXPECT_LT(at50, 1e-6) << what;
        EXPECT_LT(at60, 1e-6) << what;
    }
}

/// The averaged model: V(B) = E/|1 + (r + jx)·jB|, T·dv/dt = V(B) - v, db/dt = ki·(d - v - slope·b), d stepping by `step` at 0; the
/// susceptance B follows the order b behind a lag of a quarter of a cycle, for the thyristors that wait for their next half cycle
/// (3 to 6 ms: IEEE Special Stability Controls Working Group, IEEE Trans. Power Systems 9(1), 1994). Every millisecond, the change of b.
std::vector<double> averaged(double b, double step, double r, double x) {
    constexpr double kLag = 5e-3, kFiring = 1 / 240.0, kGain = 200, kSlope = 0.03, h = 1e-5;
    const auto voltage = [&](double at) { return 1 / std::hypot(1 - x * at, r * at); };
    const double start = b, d = voltage(b) + kSlope * b + step;
    using State = std::array<double, 3>;
    State y{voltage(b), b, b};
    const auto f = [&](const State& at) { return State{(voltage(at[2]) - at[0]) / kLag, kGain * (d - at[0] - kSlope * at[1]), (at[1] - at[2]) / kFiring}; };
    const auto plus = [](const State& a, const State& k, double by) { return State{a[0] + by * k[0], a[1] + by * k[1], a[2] + by * k[2]}; };
    std::vector<double> out;
    for (int n = 0; n <= 30000; ++n) {
        if (n % 100 == 0) out.push_back(y[1] - start);
        const auto k1 = f(y), k2 = f(plus(y, k1, h / 2)), k3 = f(plus(y, k2, h / 2)), k4 = f(plus(y, k3, h));
        for (std::size_t i = 0; i < 3; ++i) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    return out;
}

TEST(Compensators, StepResponseIsThatOfTheAveragedModel) {
    for (const double x : {0.08, 0.2}) {
        Simulation s(Study{.x = x, .svc = R"("tcr":100e6,"susceptance":-0.7,"input":"order")", .more = order(0.04, 1)}.text());
        s.run(20001);
        const double before = s.signal("SVC.b");
        const std::vector<double> model = averaged(before, 0.04, 0.005, x);
        double worst = 0;
        for (std::size_t k = 1; k < model.size(); ++k) {
            s.run(20);
            worst = std::max(worst, std::abs(s.signal("SVC.b") - before - model[k]));
        }
        print("source's reactance, per unit", x);
        print("  change of the order, per unit", model.back());
        print("  largest difference from the averaged model, of the change", worst / model.back());
        print("  the same at the end", std::abs(s.signal("SVC.b") - before - model.back()) / model.back());
        EXPECT_LT(worst, 0.05 * model.back());
    }
}

TEST(Compensators, CapacitorsComeAndGoGently) {
    // On without charge at 0.1 s, off at 0.3 s, on again with the charge that is left at 0.5 s.
    const auto step = [](const char* name, double amplitude, double time) {
        return std::string(R"({"type":"block","name":")") + name + R"(","kind":"step","amplitude":)" + number(amplitude) + R"(,"time":)" + number(time) + "},";
    };
    Simulation s(Study{.svc = R"("tcr":60e6,"tsc":[50e6],"susceptance":-0.1,"input":"order")",
                       .more = step("on", 0.03, 0.1) + step("off", -0.05, 0.3) + step("again", 0.05, 0.5) +
                               R"({"type":"block","name":"order","kind":"sum","inputs":["on","off","again"]},)"}.text());
    const std::array<std::pair<const char*, const char*>, 3> valves{{{"SVC.tsc1_ab", "B.b"}, {"SVC.tsc1_bc", "B.c"}, {"SVC.tsc1_ca", "B.a"}}};
    std::array<double, 3> open{};
    std::array<int, 3> small{};  // steps with the voltage of a closed valve, not of one that passes zero
    std::vector<double> jumps;  // voltages at which valves closed, by the crest of the rated one
    double highest = 0, current = 0;
    while (s.time() < 0.7) {
        s.run(1);
        for (std::size_t k = 0; k < 3; ++k) {
            const double across = std::abs(s.v(valves[k].first) - s.v(valves[k].second));
            small[k] = across < 10 ? small[k] + 1 : 0;  // 1 mohm
            if (small[k] == 0) open[k] = across;
            if (small[k] == 2) jumps.push_back(open[k] / (std::numbers::sqrt2 * kV));
            if (small[k] >= 2) current = std::max(current, across / 1e-3);
        }
        for (const char* node : {"B.a", "B.b", "B.c"}) highest = std::max(highest, std::abs(s.v(node)) / kPeak);
    }
    EXPECT_EQ(s.signal("SVC.tsc1"), 1);
    print("highest voltage, by the rated crest", highest);
    print("largest current of a bank, relative to the steady state", current / (0.5 * kBase / (std::numbers::sqrt3 * kV) * std::numbers::sqrt2 / std::numbers::sqrt3));
    for (const double u : jumps) print("voltage of a valve before it closed, by the rated crest", u);
    EXPECT_EQ(jumps.size(), 6U);
    for (std::size_t k = 0; k < jumps.size(); ++k) EXPECT_LT(jumps[k], k < 3 ? 0.03 : 0.2) << k;
    EXPECT_LT(highest, 1.1);
    EXPECT_LT(current, 3 * 0.5 * kBase / (std::numbers::sqrt3 * kV) * std::numbers::sqrt2 / std::numbers::sqrt3);
}

TEST(Compensators, BesideAMachine) {
    // In one task: off, exact; firing, steps that are taken again move the machine, too.
    const std::string machine = R"({"type":"synchronous_machine","name":"G","bus":"B","rated_power":100e6,"rated_voltage":22e3,"ra":0.003,"xl":0.15,"xd":1.8,"xd1":0.3,
                                   "xd2":0.23,"xq":1.7,"xq1":0.55,"xq2":0.25,"td10":8,"td20":0.03,"tq10":0.4,"tq20":0.05,"h":3,"damping":2,"v":22e3,"p":50e6},)";
    Simulation off(Study{.frequency = 50, .svc = R"("tcr":60e6)", .more = machine}.text());
    off.run(1);
    const double angle = off.signal("G.angle"), v = off.v("B.a");
    off.run(20000);
    print("off, angle of the machine after 1 s, turns", std::abs(off.signal("G.angle") - angle));
    EXPECT_NEAR(off.signal("G.angle"), angle, 1e-9);
    EXPECT_NEAR(off.v("B.a") / kPeak, v / kPeak, 1e-9);
    const double drift = rms_drift({.frequency = 50, .svc = R"("tcr":60e6,"susceptance":-0.3)", .more = machine}, 400, 3);
    print("firing, r.m.s. voltage from cycle to cycle after 3 s", drift);
    EXPECT_LT(drift, 1e-6);
}

TEST(Compensators, LowVoltageBlocksTheOrder) {
    // Three phases to ground for 0.1 s. Blocked, there are no capacitors in when the voltage comes back.
    const auto highest = [](const std::string& keys, double& order_in_fault) {
        Simulation s(Study{.svc = R"("tcr":60e6,"tsc":[50e6],"susceptance":-0.2)" + keys,
                           .more = R"({"type":"fault","name":"F","bus":"B","kind":"abc","r":0.05,"start":0.2,"stop":0.3},)"}.text());
        double out = 0;
        while (s.time() < 0.6) {
            s.run(1);
            if (s.time() > 0.25 && s.time() < 0.29) order_in_fault = s.signal("SVC.b");
            if (s.time() > 0.31) for (const char* node : {"B.a", "B.b", "B.c"}) out = std::max(out, std::abs(s.v(node)) / kPeak);
        }
        EXPECT_NEAR(s.signal("SVC.b"), -0.2, 0.01);
        EXPECT_EQ(s.engine().unsettled(), 0);
        return out;
    };
    double open = 0, blocked = 1;
    const double without = highest("", open), with = highest(R"(,"undervoltage":0.6)", blocked);
    print("highest voltage after a fault", without);
    print("with 'undervoltage'", with);
    EXPECT_EQ(open, 0.5);
    EXPECT_EQ(blocked, 0);
    EXPECT_LT(with, without - 0.1);
}

TEST(Compensators, RegulateAnotherBus) {
    Simulation own(Study{.svc = R"("tcr":60e6,"susceptance":-0.3)"}.text()),
               other(Study{.svc = R"("tcr":60e6,"susceptance":-0.3,"controlled":"S","controlled_voltage":44e3)"}.text());
    own.run(2);
    other.run(2);
    EXPECT_NEAR(other.signal("SVC.v") * 2, own.signal("SVC.v"), 1e-3);
}

TEST(Compensators, StartFromZero) {
    Simulation s(Study{.svc = R"("tcr":60e6,"tsc":[50e6],"reference":1.01)", .start = "zero"}.text());
    s.run(30000);
    const double b = s.signal("SVC.b"), slope = 0.03;
    EXPECT_NEAR(s.signal("SVC.v") + slope * b, 1.01, 3e-3);
    EXPECT_NEAR(1 / std::hypot(1 - 0.08 * b, 0.005 * b) + slope * b, 1.01, 2e-3);
    EXPECT_GT(b, 0.05);
}

TEST(Compensators, TheirBitsAreThoseOfEveryKernel) {
    const std::string text = Study{.svc = R"("tcr":60e6,"tsc":[50e6],"susceptance":-0.1,"input":"order")", .more = order(0.03, 0.05)}.text();
    std::vector<std::pair<int, std::uint64_t>> first;
    for (const char* isa : {"portable", "avx2", "avx512"}) {
        if (find_kernels(isa) == nullptr) continue;
        Simulation s(text, 0, isa);
        s.run(4000);
        EXPECT_EQ(s.signal("SVC.tsc1"), 1);
        if (first.empty()) first = s.engine().digests();
        EXPECT_EQ(s.engine().digests(), first) << isa;
    }
}

TEST(Compensators, ProblemsAreNamed) {
    const auto problem = [](const std::string& keys, const std::string& start = "steady") {
        try {
            Simulation s(Study{.svc = keys, .start = start}.text());
        } catch (const CaseError& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    for (const auto& [keys, expected] : {std::pair<const char*, const char*>{R"("tsc":[50e6])", "needs the number 'tcr'"},
                                         {R"("tcr":-1)", "'tcr' is -1 but must be greater than zero"},
                                         {R"("tcr":40e6,"tsc":[50e6])", "'tcr' must be at least the largest of 'tsc'"},
                                         {R"("tcr":60e6,"tsc":[50e6,0])", "'tsc' must be a list of up to 3 numbers greater than zero"},
                                         {R"("tcr":60e6,"tsc_tuning":1)", "'tsc_tuning' must be above 1"},
                                         {R"("tcr":60e6,"susceptance":0.1)", "'susceptance' must lie between 'b_min' and 'b_max'"},
                                         {R"("tcr":60e6,"b_min":0.1)", "'b_min' must not be above 'b_max'"},
                                         {R"("tcr":60e6,"reference":1)", "'reference' is only meaningful with \"start\": \"zero\""},
                                         {R"("tcr":60e6,"controlled":"S")", "needs the number 'controlled_voltage'"},
                                         {R"("tcr":60e6,"input":"nobody")", "signal 'nobody'"},
                                         {R"("tcr":60e6,"l":1)", "does not know the key 'l'"}})
        EXPECT_NE(problem(keys).find(expected), std::string::npos) << keys << ": " << problem(keys);
    EXPECT_NE(problem(R"("tcr":60e6)", "zero").find("needs the number 'reference'"), std::string::npos);
}

}  // namespace
}  // namespace emt::test
