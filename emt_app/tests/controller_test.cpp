// Exciters, stabilizers and governors against their differential equations, integrated by a Runge–Kutta method of fourth order
// with a step that is much shorter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kAt = 0.01;  // when the input steps, s

/// Returns a machine as signals: measured ones are given, driven ones are required at the start.
std::string machine(double vt_step, double speed_step, double pe_step, double efd, double pm) {
    const auto step = [](const std::string& name, double value, double amplitude) {
        return R"({"type":"block","name":"G.)" + name + R"(","kind":"step","value":)" + std::to_string(value) + R"(,"amplitude":)" + std::to_string(amplitude) + R"(,"time":0.01},)";
    };
    const auto sink = [](const std::string& name, double value) {
        return R"({"type":"block","name":")" + name + R"(_sink","kind":"lag","input":"G.)" + name + R"(","time_constant":1,"initial":)" + std::to_string(value) + "},";
    };
    return R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":1},{"type":"resistor","name":"R","nodes":["a","0"],"r":1},)" +
           step("vt", 1.02, vt_step) + step("speed", 1, speed_step) + step("pe", 0.8, pe_step) + step("ifd", 1.7, 0) +
           (efd > 0 ? sink("efd", efd) : "") + (pm > 0 ? sink("pm", pm) : "");
}
std::string controller(const std::string& type, const std::string& model, const std::string& more = "") {
    return R"({"type":")" + type + R"(","name":"C","machine":"G","model":")" + model + R"(")" + more + "}";
}

/// A signal every 50 ms up to 1 s.
std::vector<double> simulated(const std::string& elements, const std::string& signal, double dt) {
    Simulation s(make_case(elements, dt, R"("nodes":["a"],)"));
    std::vector<double> out;
    s.run(1);
    for (int k = 0; k < 20; ++k) {
        s.run(static_cast<int>(std::lround(0.05 / dt)));
        out.push_back(s.signal(signal));
    }
    return out;
}

using State = std::vector<double>;
/// Derivatives and output of a model; `stepped` says whether the input has stepped.
struct Reference {
    State x;
    std::function<State(const State&, bool stepped)> derivative;
    std::function<double(const State&, bool stepped)> output;
    std::vector<std::pair<double, double>> limits{};  // of the first states
};

std::vector<double> integrated(Reference m) {
    constexpr double h = 2e-5;
    std::vector<double> out;
    const auto plus = [](State x, const State& d, double factor) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * d[i];
        return x;
    };
    const auto held = [&](State x) {
        for (std::size_t i = 0; i < m.limits.size(); ++i) x[i] = std::clamp(x[i], m.limits[i].first, m.limits[i].second);
        return x;
    };
    const auto derivative = [&](const State& at, bool s) {
        const State x = held(at);
        State d = m.derivative(x, s);
        for (std::size_t i = 0; i < m.limits.size(); ++i)
            if ((x[i] >= m.limits[i].second && d[i] > 0) || (x[i] <= m.limits[i].first && d[i] < 0)) d[i] = 0;
        return d;
    };
    const int before = static_cast<int>(std::lround(kAt / h)), every = static_cast<int>(std::lround(0.05 / h));
    for (int n = 0; n <= 20 * every; ++n) {
        if (n > 0 && n % every == 0) out.push_back(m.output(m.x, true));
        const bool s = n >= before;
        const State k1 = derivative(m.x, s), k2 = derivative(plus(m.x, k1, h / 2), s), k3 = derivative(plus(m.x, k2, h / 2), s),
                    k4 = derivative(plus(m.x, k3, h), s);
        for (std::size_t i = 0; i < m.x.size(); ++i) m.x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
        m.x = held(m.x);
    }
    return out;
}

double largest_error(const std::vector<double>& a, const std::vector<double>& b) {
    double out = 0;
    for (std::size_t k = 0; k < a.size(); ++k) out = std::max(out, std::fabs(a[k] - b[k]));
    return out;
}

/// Second order against the reference, which moves by at least `moves`.
void expect_model(const std::string& elements, const std::string& signal, const Reference& reference, double moves, double error) {
    const std::vector<double> exact = integrated(reference);
    const double start = reference.output(reference.x, false);
    double moved = 0;
    for (const double y : exact) moved = std::max(moved, std::fabs(y - start));
    EXPECT_GT(moved, moves);
    const double coarse = largest_error(simulated(elements, signal, 4e-4), exact), fine = largest_error(simulated(elements, signal, 2e-4), exact);
    EXPECT_LT(fine, error);
    EXPECT_NEAR(coarse / fine, 4, 0.8) << coarse << " and " << fine;
}
/// Within limits of states the order depends on where in a step they are reached: the error alone.
void expect_limited_model(const std::string& elements, const std::string& signal, const Reference& reference, double error) {
    EXPECT_LT(largest_error(simulated(elements, signal, 5e-5), integrated(reference)), error);
}

double saturation(double e, double e1, double s1, double e2, double s2) {
    const double root1 = std::sqrt(e1 * s1), root2 = std::sqrt(e2 * s2), b = (root1 - root2) / (e1 - e2), a = e1 - root1 / b;
    return e > a ? b * b * (e - a) * (e - a) : 0;
}

TEST(Exciters, Dc1aFollowsItsEquations) {
    // x: vc, vr, efd, the lag of the rate feedback
    const double efd = 1.8, vr = saturation(efd, 3.1, 0.33, 2.3, 0.1), reference = 1.02 + vr / 46;
    const auto model = [&](double dv) {
        return Reference{{1.02, vr, efd, efd},
                         [=](const State& x, bool s) {
                             const double vf = 0.1 * (x[2] - x[3]);
                             return State{(1.02 + (s ? dv : 0) - x[0]) / 0.02, (46 * (reference - x[0] - vf) - x[1]) / 0.06,
                                          (x[1] - saturation(x[2], 3.1, 0.33, 2.3, 0.1)) / 0.46, x[2] - x[3]};
                         },
                         [](const State& x, bool) { return x[2]; }, {{-9, 9}, {-0.9, 1.0}}};
    };
    EXPECT_GT(vr, 0.01);
    expect_model(machine(-0.01, 0, 0, efd, 0) + controller("exciter", "DC1A"), "G.efd", model(-0.01), 0.1, 1e-5);
    expect_limited_model(machine(-0.2, 0, 0, efd, 0) + controller("exciter", "DC1A"), "G.efd", model(-0.2), 3e-4);
}

double rectifier(double in) {
    const double root3 = std::sqrt(3.0);
    return in <= root3 / 4 ? 1 - in / root3 : in <= 0.75 ? std::sqrt(0.75 - in * in) : std::max(root3 * (1 - in), 0.0);
}

TEST(Exciters, Ac1aFollowsItsEquations) {
    for (const double kc : {0.2, 0.6, 1.1}) {  // rectifier in its first, second and third mode
        const double efd = 1.7, ifd = 1.7;
        double ve = efd;
        for (int i = 0; i < 200; ++i) ve += 0.5 * (efd - ve * rectifier(kc * ifd / ve));
        const auto vx = [](double e) { return saturation(e, 4.18, 0.1, 3.14, 0.03); };
        const double vr = 0.38 * ifd + ve + vx(ve), reference = 1.02 + vr / 400;
        // x: va, ve, the lag of the rate feedback
        const Reference model{{vr, ve, vr},
                              [=](const State& x, bool s) {
                                  const double vfe = 0.38 * ifd + x[1] + vx(x[1]), vf = 0.03 * (vfe - x[2]);
                                  return State{(400 * (reference - 1.02 - (s ? -0.004 : 0) - vf) - x[0]) / 0.02, (x[0] - vfe) / 0.8, vfe - x[2]};
                              },
                              [=](const State& x, bool) { return x[1] * rectifier(kc * ifd / x[1]); }};
        expect_model(machine(-0.004, 0, 0, efd, 0) + controller("exciter", "AC1A", ",\"KC\":" + std::to_string(kc)), "G.efd", model, 0.02, 1e-3);
    }
}

TEST(Exciters, Ac4aFollowsItsEquations) {
    const double efd = 1.8, reference = 1.02 + efd / 200;
    const auto model = [=](double dv, double ceiling) {
        return Reference{{efd / 200, efd},  // the lead-lag's lag, va
                         [=](const State& x, bool s) {
                             const double u = reference - 1.02 - (s ? dv : 0), y = x[0] + 0.1 * (u - x[0]);
                             return State{(u - x[0]) / 10, (200 * y - x[1]) / 0.015};
                         },
                         [=](const State& x, bool) { return std::clamp(x[1], -4.53, ceiling); }};
    };
    expect_model(machine(-0.02, 0, 0, efd, 0) + controller("exciter", "AC4A"), "G.efd", model(-0.02, 5.64), 0.3, 1e-5);
    expect_limited_model(machine(-0.3, 0, 0, efd, 0) + controller("exciter", "AC4A", R"(,"KC":0.5)"), "G.efd", model(-0.3, 5.64 - 0.85), 1e-5);
}

TEST(Exciters, St1aFollowsItsEquations) {
    const double efd = 1.8, ka = 150, ta = 0.05, reference = 1.02 + efd / ka;
    const std::string parameters = R"(,"KA":150,"TA":0.05,"TC":1,"TB":10,"TC1":0.2,"TB1":0.1,"KF":0.02,"TF":0.5)";
    // x: vc, two lags of lead-lags, va, the lag of the rate feedback
    const auto model = [=](double dv) {
        return Reference{{1.02, efd / ka, efd / ka, efd, efd},
                         [=](const State& x, bool s) {
                             const double vt = 1.02 + (s ? dv : 0), vf = 0.02 / 0.5 * (x[3] - x[4]);
                             const double u = reference - x[0] - vf, y1 = x[1] + 0.1 * (u - x[1]), y2 = x[2] + 2 * (y1 - x[2]);
                             return State{(vt - x[0]) / 0.02, (u - x[1]) / 10, (y1 - x[2]) / 0.1, (ka * y2 - x[3]) / ta, (x[3] - x[4]) / 0.5};
                         },
                         [=](const State& x, bool s) {
                             const double vt = 1.02 + (s ? dv : 0);
                             return std::min(std::max(x[3], -6.7 * vt), 7.8 * vt - 0.08 * 1.7);
                         }};
    };
    expect_model(machine(-0.02, 0, 0, efd, 0) + controller("exciter", "ST1A", parameters), "G.efd", model(-0.02), 0.2, 1e-4);
    expect_limited_model(machine(-0.9, 0, 0, efd, 0) + controller("exciter", "ST1A", parameters), "G.efd", model(-0.9), 1e-3);
}

TEST(Exciters, SexsFollowsItsEquations) {
    const double efd = 1.8, reference = 1.02 + efd / 100;
    const auto model = [=](double dv) {
        return Reference{{efd, efd / 100},  // efd, the lead-lag's lag
                         [=](const State& x, bool s) {
                             const double u = reference - 1.02 - (s ? dv : 0), y = x[1] + 0.1 * (u - x[1]);
                             return State{(100 * y - x[0]) / 0.05, (u - x[1]) / 10};
                         },
                         [](const State& x, bool) { return x[0]; }, {{-5, 5}}};
    };
    expect_model(machine(-0.02, 0, 0, efd, 0) + controller("exciter", "SEXS"), "G.efd", model(-0.02), 0.3, 1e-5);
    expect_limited_model(machine(-0.4, 0, 0, efd, 0) + controller("exciter", "SEXS"), "G.efd", model(-0.4), 1e-4);
}

TEST(Exciters, SexsLeavesItsLimitsAtOnce) {
    // K·u steps to 11.8, above EMAX, and at 0.5 s to -1.2, below EMIN: exponentials, each from the limit that was held.
    const double te = 0.2;
    const std::string back = R"({"type":"block","name":"back","kind":"step","amplitude":-0.13,"time":0.5},)";
    const std::vector<double> efd = simulated(machine(-0.1, 0, 0, 1.8, 0) + back + controller("exciter", "SEXS", R"(,"TATB":1,"TE":0.2,"EMIN":-0.5,"EMAX":5,"input":"back")"), "G.efd", 5e-5);
    for (std::size_t k = 0; k < efd.size(); ++k) {
        const double t = 0.05 * static_cast<double>(k + 1);
        const double exact = t <= 0.5 ? std::min(5.0, 11.8 - 10 * std::exp(-(t - kAt) / te)) : std::max(-0.5, -1.2 + 6.2 * std::exp(-(t - 0.5) / te));
        EXPECT_NEAR(efd[k], exact, 1e-3) << t;  // half a step at the steepest; with windup it would be 0.15 s late
    }
    EXPECT_EQ(efd[9], 5);
    EXPECT_EQ(efd.back(), -0.5);
}

TEST(Stabilizers, Pss1aFollowsItsEquations) {
    // x: sensor, lag of the washout, slope and value of the filter, lags of the lead-lags
    const auto model = [](double dw) {
        return Reference{{1, 1, 0, 0, 0, 0},
                         [=](const State& x, bool s) {
                             const double swing = 5 * (x[0] - x[1]), y1 = x[4] + 10 * (x[3] - x[4]);
                             return State{(1 + (s ? dw : 0) - x[0]) / 0.01, (x[0] - x[1]) / 10, (swing - 0.061 * x[2] - x[3]) / 0.0017, x[2], (x[3] - x[4]) / 0.03, (y1 - x[5]) / 0.03};
                         },
                         [](const State& x, bool) {
                             const double y1 = x[4] + 10 * (x[3] - x[4]);
                             return std::clamp(x[5] + 10 * (y1 - x[5]), -0.05, 0.05);
                         }};
    };
    expect_model(machine(0, 0.001, 0, 0, 0) + controller("stabilizer", "PSS1A"), "G.vs", model(0.001), 0.004, 1e-4);
    const std::vector<double> limited = simulated(machine(0, 0.1, 0, 0, 0) + controller("stabilizer", "PSS1A"), "G.vs", 1e-4);
    EXPECT_EQ(*std::max_element(limited.begin(), limited.end()), 0.05);
    EXPECT_EQ(*std::min_element(limited.begin(), limited.end()), -0.05);
}

TEST(Stabilizers, Pss2bFollowsItsEquations) {
    // x: washouts of speed (2) and power, power's lag, lag of the first ramp-tracking stage and four lags more, two lead-lags
    const auto outputs = [](const State& x, double dw, double pe) {
        const double w1 = dw - x[0], w2 = w1 - x[1], w3 = pe - x[2], mechanical = w2 + x[3], stage = x[4] + 2 * (mechanical - x[4]);
        const double swing = 12 * (x[8] - x[3]), y1 = x[9] + 6 * (swing - x[9]), y2 = x[10] + 15 * (y1 - x[10]);
        return std::array<double, 7>{w1, w2, w3, mechanical, stage, swing, std::clamp(y2, -0.1, 0.1)};
    };
    const Reference model{{0, 0, 0.8, 0, 0, 0, 0, 0, 0, 0, 0},
                          [=](const State& x, bool s) {
                              const double dw = s ? 0.0001 : 0, pe = 0.8 + (s ? 0.003 : 0);
                              const auto [w1, w2, w3, mechanical, stage, swing, out] = outputs(x, dw, pe);
                              const double y1 = x[9] + 6 * (swing - x[9]);
                              return State{w1 / 2, w2 / 2, w3 / 2, (0.2 * w3 - x[3]) / 2, (mechanical - x[4]) / 0.1, (stage - x[5]) / 0.1, (x[5] - x[6]) / 0.1,
                                           (x[6] - x[7]) / 0.1, (x[7] - x[8]) / 0.1, (swing - x[9]) / 0.02, (y1 - x[10]) / 0.02};
                          },
                          [=](const State& x, bool s) { return outputs(x, s ? 0.0001 : 0, 0.8 + (s ? 0.003 : 0))[6]; }};
    expect_model(machine(0, 0.0001, 0.003, 0, 0) + controller("stabilizer", "PSS2B"), "G.vs", model, 5e-4, 1e-5);
}

/// IEEEST on an input that steps by `du`: its filter as the fraction of two polynomials in s, lowest power first.
Reference ieeest(double du, const State& numerator, const State& denominator) {
    const std::size_t order = denominator.size() - 1;
    // x: the filter in controllable canonical form, lags of two lead-lags and of the washout
    const auto outputs = [=](const State& x, bool s) {
        double highest = s ? du : 0, filter = 0;
        for (std::size_t k = 0; k < order; ++k) highest -= denominator[k] * x[k];
        highest /= denominator[order];
        for (std::size_t k = 0; k < numerator.size(); ++k) filter += numerator[k] * (k < order ? x[k] : highest);
        const double y1 = x[order] + 2 * (filter - x[order]), y2 = x[order + 1] + 1.6 * (y1 - x[order + 1]);
        return std::array<double, 5>{highest, filter, y1, y2, 5 * 3 / 2.0 * (y2 - x[order + 2])};
    };
    return {State(order + 3, 0),
            [=](const State& x, bool s) {
                const auto [highest, filter, y1, y2, out] = outputs(x, s);
                State d(x.begin() + 1, x.begin() + static_cast<std::ptrdiff_t>(order));
                d.insert(d.end(), {highest, (filter - x[order]) / 0.05, (y1 - x[order + 1]) / 0.05, (y2 - x[order + 2]) / 2});
                return d;
            },
            [=](const State& x, bool s) { return std::clamp(outputs(x, s)[4], -0.05, 0.05); }};
}
std::string ieeest_element(const std::string& filter) {
    return controller("stabilizer", "IEEEST", R"(,"T1":0.1,"T2":0.05,"T3":0.08,"T4":0.05,"T5":3,"T6":2,"KS":5,)" + filter);
}

TEST(Stabilizers, IeeestFollowsItsEquations) {
    // (1 + 0.05·s + 0.002·s²)(1 + 0.03·s + 0.0005·s²) multiplied out
    const State both{1, 0.08, 0.004, 8.5e-5, 1e-6};
    const std::string full = R"("A1":0.05,"A2":0.002,"A3":0.03,"A4":0.0005,"A5":0.02,"A6":0.001)";
    expect_model(machine(0, 0.001, 0, 0, 0) + ieeest_element(R"("IC":1,)" + full), "G.vs", ieeest(0.001, {1, 0.02, 0.001}, both), 0.004, 1e-4);
    expect_model(machine(0, 0, 0.001, 0, 0) + ieeest_element(R"("IC":3,)" + full), "G.vs", ieeest(0.001, {1, 0.02, 0.001}, both), 0.004, 1e-4);
    expect_model(machine(0, 0, 0.001, 0, 0) + ieeest_element(R"("IC":4,)" + full), "G.vs", ieeest(-0.001, {1, 0.02, 0.001}, both), 0.004, 1e-4);
    expect_model(machine(0.001, 0, 0, 0, 0) + ieeest_element(R"("IC":5,)" + full), "G.vs", ieeest(0.001, {1, 0.02, 0.001}, both), 0.004, 1e-4);
    // Factors of lower order: the numerator goes to the second one, to the product of both, and to a lag.
    expect_model(machine(0, 0.001, 0, 0, 0) + ieeest_element(R"("A1":0.05,"A2":0,"A3":0.03,"A4":0.002,"A5":0.02,"A6":0.001)"), "G.vs",
                 ieeest(0.001, {1, 0.02, 0.001}, {1, 0.08, 0.0035, 1e-4}), 0.004, 1e-4);
    expect_model(machine(0, 0.001, 0, 0, 0) + ieeest_element(R"("A1":0.05,"A2":0,"A3":0.03,"A4":0,"A5":0.02,"A6":0.001)"), "G.vs",
                 ieeest(0.001, {1, 0.02, 0.001}, {1, 0.08, 0.0015}), 0.004, 1e-4);
    expect_model(machine(0, 0.001, 0, 0, 0) + ieeest_element(R"("A1":0,"A2":0,"A3":0.05,"A4":0,"A5":0.02)"), "G.vs", ieeest(0.001, {1, 0.02}, {1, 0.05}), 0.004, 1e-4);
}

TEST(Stabilizers, IeeestAcceleratesWithTheTurbine) {
    // Accelerating power of a driven machine: a step of both powers gives nothing.
    const std::string turbine = R"({"type":"block","name":"G.pm","kind":"step","value":0.8,"amplitude":0.003,"time":0.01},)";
    for (const double vs : simulated(machine(0, 0, 0.003, 0, 0) + turbine + controller("stabilizer", "IEEEST", R"(,"IC":4)"), "G.vs", 1e-4)) EXPECT_NEAR(vs, 0, 1e-12);
}

TEST(Stabilizers, IeeestIsLimitedAndOffOutsideItsVoltages) {
    const auto of = [](double dv, const char* more) { return simulated(machine(dv, 0.1, 0, 0, 0) + controller("stabilizer", "IEEEST", more), "G.vs", 1e-4); };
    const std::vector<double> limited = of(0, "");
    EXPECT_EQ(*std::max_element(limited.begin(), limited.end()), 0.05);
    EXPECT_EQ(of(-0.3, R"(,"VCL":0.7,"VCU":1.2)"), limited);  // a voltage of 0.72
    EXPECT_EQ(of(-0.3, R"(,"VCL":0.8,"VCU":1.2)"), std::vector<double>(limited.size(), 0));
    EXPECT_EQ(of(0.3, R"(,"VCL":0.8)"), limited);
    EXPECT_EQ(of(0.3, R"(,"VCU":1.2)"), std::vector<double>(limited.size(), 0));
}

TEST(Governors, Tgov1FollowsItsEquations) {
    const double pm = 0.6;
    const auto model = [=](double dw) {
        return Reference{{pm, pm},
                         [=](const State& x, bool s) { return State{(pm - (s ? dw : 0) / 0.05 - x[0]) / 0.5, (x[0] - x[1]) / 10}; },
                         [=](const State& x, bool s) { return x[1] + 0.3 * (x[0] - x[1]) - 0.4 * (s ? dw : 0); }, {{0, 1}}};
    };
    const std::string more = controller("governor", "TGOV1", R"(,"DT":0.4)");
    expect_model(machine(0, 0.005, 0, 0, pm) + more, "G.pm", model(0.005), 0.02, 1e-6);
    expect_limited_model(machine(0, -0.05, 0, 0, pm) + more, "G.pm", model(-0.05), 1e-5);
}

TEST(Governors, Ieeeg1FollowsItsEquations) {
    const double pm = 0.6;
    const auto model = [=](double dw) {
        return Reference{{pm, pm, pm, pm},  // valve, chest, reheater, crossover
                         [=](const State& x, bool s) {
                             return State{std::clamp((pm - 25 * (s ? dw : 0) - x[0]) / 0.1, -10.0, 1.0), (x[0] - x[1]) / 0.3, (x[1] - x[2]) / 5, (x[2] - x[3]) / 0.5};
                         },
                         [](const State& x, bool) { return 0.2 * x[1] + 0.3 * x[2] + 0.5 * x[3]; }, {{0, 1}}};
    };
    expect_model(machine(0, 0.005, 0, 0, pm) + controller("governor", "IEEEG1"), "G.pm", model(0.005), 0.02, 1e-5);
    expect_limited_model(machine(0, -0.03, 0, 0, pm) + controller("governor", "IEEEG1"), "G.pm", model(-0.03), 1e-4);
}

TEST(Governors, HygovFollowsItsEquations) {
    const double pm = 0.6, q = pm / 1.2 + 0.08;
    const auto order = [](const State& x) { return x[0] / 0.3 + x[1]; };
    // x: error, reset, gate, flow
    const Reference model{{0, q, q, q},
                          [=](const State& x, bool s) {
                              const double head = (x[3] / x[2]) * (x[3] / x[2]);
                              return State{(0.05 * q - (s ? 0.001 : 0) - 0.05 * order(x) - x[0]) / 0.05, x[0] / 1.5, (order(x) - x[2]) / 0.5, 1 - head};
                          },
                          [=](const State& x, bool s) {
                              const double head = (x[3] / x[2]) * (x[3] / x[2]);
                              return 1.2 * head * (x[3] - 0.08) - 0.5 * x[2] * (s ? 0.001 : 0);
                          }};
    expect_model(machine(0, 0.001, 0, 0, pm) + controller("governor", "HYGOV", R"(,"DTURB":0.5)"), "G.pm", model, 0.001, 1e-6);
    // A large step moves the gate's order at its greatest speed.
    const std::string fast = machine(0, -0.5, 0, 0, pm) + controller("governor", "HYGOV");
    const std::vector<double> c = simulated(fast, "C.order", 1e-4);
    EXPECT_NEAR(c[3] - c[1], 0.2 * 0.1, 1e-9);
}

TEST(Governors, GastFollowsItsEquations) {
    const double pm = 0.6;
    const auto model = [=](double dw) {
        return Reference{{pm, pm, pm},
                         [=](const State& x, bool s) {
                             const double fuel = std::min(pm - (s ? dw : 0) / 0.05, 1 + 2 * (1 - x[2]));
                             return State{(fuel - x[0]) / 0.4, (x[0] - x[1]) / 0.1, (x[1] - x[2]) / 3};
                         },
                         [](const State& x, bool) { return x[1]; }, {{0, 1}}};
    };
    expect_model(machine(0, 0.005, 0, 0, pm) + controller("governor", "GAST"), "G.pm", model(0.005), 0.02, 1e-5);
    expect_limited_model(machine(0, -0.05, 0, 0, pm) + controller("governor", "GAST"), "G.pm", model(-0.05), 1e-4);
}

TEST(Controllers, AMachineOfBlocksStaysInItsSteadyState) {
    // Field: Td0'·vt' = efd - vt; shaft: 2H·speed' = pm - pe; all in one loop with exciter, stabilizer and governor.
    const std::string plant = R"({"type":"voltage_source","name":"E","to":"a","r":1,"amplitude":1},{"type":"resistor","name":"R","nodes":["a","0"],"r":1},
        {"type":"block","name":"G.vt","kind":"lag","input":"G.efd","gain":0.5,"time_constant":6,"initial":1.03},{"type":"block","name":"G.ifd","kind":"lag","input":"G.efd","time_constant":0.3},
        {"type":"block","name":"G.speed","kind":"integrator","input":"torque","gain":0.125,"initial":1},{"type":"block","name":"torque","kind":"sum","inputs":["G.pm","G.pe"],"weights":[1,-1]},
        {"type":"block","name":"G.pe","kind":"product","inputs":["G.vt","G.vt"],"gain":0.7},)";
    for (const char* exciter : {"DC1A", "AC1A", "AC4A", "ST1A", "SEXS"})
        for (const char* governor : {"TGOV1", "IEEEG1", "HYGOV", "GAST"})
            for (const char* stabilizer : {"PSS1A", "PSS2B", "IEEEST"}) {
                const auto part = [](const std::string& type, const std::string& model) {
                    return R"({"type":")" + type + R"(","name":")" + type + R"(","machine":"G","model":")" + model + R"("})";
                };
                Simulation s(make_case(plant + part("exciter", exciter) + "," + part("governor", governor) + "," + part("stabilizer", stabilizer), 5e-5, R"("nodes":["a"],)"));
                s.run(1);
                const double efd = s.signal("G.efd"), pm = s.signal("G.pm");
                EXPECT_NEAR(efd, 2.06, 1e-11);
                EXPECT_NEAR(pm, 0.7 * 1.03 * 1.03, 1e-11);
                s.run(20000);
                EXPECT_NEAR(s.signal("G.vt"), 1.03, 1e-9) << exciter << ' ' << governor << ' ' << stabilizer;
                EXPECT_NEAR(s.signal("G.efd"), efd, 1e-9) << exciter << ' ' << governor << ' ' << stabilizer;
                EXPECT_NEAR(s.signal("G.pm"), pm, 1e-9) << exciter << ' ' << governor << ' ' << stabilizer;
                EXPECT_NEAR(s.signal("G.speed"), 1, 1e-10) << exciter << ' ' << governor << ' ' << stabilizer;
            }
}

TEST(Controllers, StartFromRest) {
    // Also quotients of signals that are zero at first.
    const auto after_10_s = [](const char* type, const char* model, const std::string& more, const char* signal) {
        Simulation s(make_case(machine(0, 0, 0, 0, 0) + controller(type, model, more), 1e-3, R"("start":"zero","nodes":["a"],)"));
        s.run(10000);
        return s.signal(signal);
    };
    for (const char* model : {"DC1A", "AC1A", "AC4A", "ST1A", "SEXS"}) EXPECT_GT(after_10_s("exciter", model, R"(,"reference":1.03)", "G.efd"), 0.1) << model;
    for (const char* model : {"TGOV1", "IEEEG1", "HYGOV", "GAST"}) EXPECT_GT(after_10_s("governor", model, R"(,"reference":0.2)", "G.pm"), 0.1) << model;
    for (const char* model : {"PSS1A", "PSS2B", "IEEEST"}) EXPECT_LE(std::fabs(after_10_s("stabilizer", model, "", "G.vs")), 0.1) << model;
}

TEST(Controllers, ALimitThatForbidsTheSteadyStateIsNamed) {
    const auto says = [](const std::string& elements) -> std::string {
        try {
            Simulation s(make_case(elements, 5e-5, R"("nodes":["a"],)"));
        } catch (const std::exception& e) {
            return e.what();
        }
        return "started";
    };
    EXPECT_NE(says(machine(0, 0, 0, 8, 0) + controller("exciter", "ST1A")).find("'G.efd'"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 8, 0) + controller("exciter", "DC1A")).find("'C.vr'"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 0, 1.2) + controller("governor", "TGOV1")).find("'C.valve'"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 0, 1.2) + controller("governor", "IEEEG1")).find("'C.valve'"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 2, 0) + controller("exciter", "ST1A", R"(,"VRMIN":9)")).find("'VRMIN' must not be above"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 2, 0) + controller("exciter", "ST1A", R"(,"KF":0.1)")).find("algebraic-loop"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 2, 0) + controller("exciter", "ST1A", R"(,"Ka":0.1)")).find("unknown-key"), std::string::npos);
    EXPECT_NE(says(machine(0, 0, 0, 8, 0) + controller("exciter", "SEXS")).find("by 'EMIN' and 'EMAX'"), std::string::npos);
    for (const auto& [parameters, key] : {std::pair{R"("EMIN":6)", "'EMIN' must not be above"}, {R"("TE":0)", "'TE'"}, {R"("K":-1)", "'K'"}, {R"("TB":-1)", "'TB'"}}) {
        const std::string told = says(machine(0, 0, 0, 2, 0) + controller("exciter", "SEXS", std::string(",") + parameters));
        EXPECT_NE(told.find(key), std::string::npos) << told;
        EXPECT_NE(told.find("'C' (exciter)"), std::string::npos) << told;
    }
    for (const auto& [parameters, key] : {std::pair{R"("IC":2)", "'IC'"}, {R"("LSMIN":1)", "'LSMIN' must not be above"}, {R"("A1":0,"A2":0,"A5":1)", "'A5'"}, {R"("A2":0,"A6":1)", "'A6'"},
                                          {R"("T2":0)", "'T1'"}, {R"("T4":0)", "'T3'"}, {R"("T6":0)", "'T6'"}, {R"("A4":-1)", "'A4'"}, {R"("VCU":0.9,"VCL":1)", "'VCL'"}}) {
        const std::string told = says(machine(0, 0, 0, 0, 0) + controller("stabilizer", "IEEEST", std::string(",") + parameters));
        EXPECT_NE(told.find(key), std::string::npos) << told;
        EXPECT_NE(told.find("'C' (stabilizer)"), std::string::npos) << told;
    }
}

}  // namespace
}  // namespace emt::test
