// Poles that move inside a step, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "digests.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kPi = std::numbers::pi, kOmega = 2 * kPi * 60;

/// Root of f between two bounds of different sign.
template <class F>
double root(F f, double low, double high) {
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        ((f(middle) > 0) == (f(low) > 0) ? low : high) = middle;
    }
    return low;
}

/// Largest difference of a node's voltage from a function of time over the first `until_s`.
template <class F>
double largest_error(Simulation& s, const std::string& node, double until_s, F exact) {
    double worst = 0;
    for (int i = static_cast<int>(std::lround(until_s / s.dt())); i > 0; --i) {
        s.run(1);
        worst = std::max(worst, std::abs(s.v(node) - exact(s.time())));
    }
    return worst;
}

/// 100 V into a diode, R and L in series: one pulse of current per period, which ends where
/// sin(β - φ) + sin φ·exp(-β/tan φ) = 0, tan φ = ωL/R.
struct HalfWave {
    double r = 10 + 1e-3 + 1e-6, l = 0.03;
    [[nodiscard]] double current(double t) const {
        const double z = std::hypot(r, kOmega * l), phi = std::atan2(kOmega * l, r);
        const auto pulse = [&](double angle) { return 100 / z * (std::sin(angle - phi) + std::sin(phi) * std::exp(-angle / std::tan(phi))); };
        const double end = root(pulse, kPi, 1.99 * kPi), angle = std::fmod(kOmega * t, 2 * kPi);
        return angle < end ? pulse(angle) : 0;
    }
    [[nodiscard]] double error(double dt) const {
        // The voltage at b is R·i; the phase makes a sine of the source.
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1e-6,"amplitude":100,"phase":-90},
                                  {"type":"diode","name":"D","nodes":["s","a"]},
                                  {"type":"resistor","name":"G","nodes":["a","0"],"r":1e9},
                                  {"type":"inductor","name":"L","nodes":["a","b"],"l":0.03},
                                  {"type":"resistor","name":"R","nodes":["b","0"],"r":10})", dt, R"("start":"zero","nodes":["s","a","b"],)"));
        return largest_error(s, "b", 0.05, [&](double t) { return 10 * current(t); });
    }
};

TEST(Instants, ADiodeEndsItsPulseAtTheCurrentZero) {
    const HalfWave circuit;
    EXPECT_LT(circuit.error(50e-6), 0.01);
    EXPECT_NEAR(circuit.error(50e-6) / circuit.error(25e-6), 4, 0.3);
}

TEST(Instants, ABridgeOfDiodesRectifies) {
    // Six pulses into a resistor: |u| between the two phases that lead, less what the valves and sources take.
    Simulation s(make_case(R"({"type":"source","name":"E","bus":"S","amplitude":100,"r1":1e-6,"l1":0},
                              {"type":"diode","name":"Pa","nodes":["S.a","p"],"r_off":1e7},{"type":"diode","name":"Na","nodes":["n","S.a"],"r_off":1e7},
                              {"type":"diode","name":"Pb","nodes":["S.b","p"],"r_off":1e7},{"type":"diode","name":"Nb","nodes":["n","S.b"],"r_off":1e7},
                              {"type":"diode","name":"Pc","nodes":["S.c","p"],"r_off":1e7},{"type":"diode","name":"Nc","nodes":["n","S.c"],"r_off":1e7},
                              {"type":"resistor","name":"R","nodes":["p","n"],"r":10})", 50e-6, R"("start":"zero","buses":["S"],"nodes":["p","n"],)"));
    double worst = 0;
    s.run(4);
    for (int i = 0; i < 1000; ++i) {
        s.run(1);
        double leads = 0;
        for (int k = 0; k < 3; ++k)
            leads = std::max(leads, std::abs(std::numbers::sqrt3 * 100 * std::cos(kOmega * s.time() + kPi / 6 - 2 * kPi / 3 * k)));
        worst = std::max(worst, std::abs(s.v("p") - s.v("n") - leads * 10 / 10.002));
    }
    EXPECT_LT(worst, 0.05);
    EXPECT_EQ(s.engine().unsettled(), 0);
}

/// A thyristor-controlled reactor of one phase across a stiff source: two valves, fired at α after the zero crossing of the voltage.
class Tcr {
public:
    explicit Tcr(double alpha) : alpha_(alpha) {}
    /// Fourier coefficient of the current, A peak, from one period after the first three, at a step of `dt`.
    [[nodiscard]] double harmonic(int n, double dt) const {
        const double start = (alpha_ + kPi / 2) / kOmega;  // the source is a cosine: zero crossing downwards at π/2
        const auto valve = [&](const char* name, const char* from, const char* to, double at) {
            return std::string(R"(,{"type":"thyristor","name":")") + name + R"(","nodes":[")" + from + "\",\"" + to + R"("],"r_on":1e-4,"start":)" +
                   std::to_string(at * 1e9) + R"(e-9,"width":1e-3})";
        };
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1e-6,"amplitude":1000},
                                  {"type":"inductor","name":"L","nodes":["s","a"],"l":0.05},{"type":"resistor","name":"M","nodes":["b","0"],"r":1e-3},
                                  {"type":"resistor","name":"G","nodes":["a","0"],"r":1e8})" +
                                   valve("T1", "b", "a", start) + valve("T2", "a", "b", start + kPi / kOmega),
                               dt, R"("start":"zero","nodes":["s","a","b"],)"));
        const int period = static_cast<int>(std::lround(1 / 60.0 / dt));
        s.run(3 * period);
        std::complex<double> sum = 0;
        for (int i = 0; i < period; ++i) {
            s.run(1);
            sum += s.v("b") / 1e-3 * std::polar(1.0, -n * kOmega * s.time());
        }
        return 2 * std::abs(sum) / period;
    }
    /// L. Gyugyi 1979; T. J. E. Miller, Reactive Power Control in Electric Systems, 1982, ch. 4, σ = 2(π - α):
    /// I_1 = V/(ωL)·(σ - sin σ)/π, I_n = 4V/(πωL)·(cos α·sin nα - n·sin α·cos nα)/(n(n² - 1)).
    [[nodiscard]] double closed_form(int n) const {
        const double full = 1000 / (kOmega * 0.05), sigma = 2 * (kPi - alpha_);
        if (n == 1) return full * (sigma - std::sin(sigma)) / kPi;
        return std::abs(4 * full / kPi * (std::cos(alpha_) * std::sin(n * alpha_) - n * std::sin(alpha_) * std::cos(n * alpha_)) / (n * (n * n - 1.0)));
    }

private:
    double alpha_;
};

TEST(Instants, HarmonicsOfAThyristorControlledReactor) {
    for (const double degrees : {100.0, 120.0, 140.0, 160.0}) {
        const Tcr tcr(degrees * kPi / 180);
        for (const int n : {1, 3, 5, 7, 11}) EXPECT_NEAR(tcr.harmonic(n, 1 / 60.0 / 400), tcr.closed_form(n), 2e-3 * tcr.closed_form(1) + 1e-3) << degrees << "°, n = " << n;
    }
}

TEST(Instants, FiringMovesTheCurrentByLessThanAStep) {
    // A tenth of a step later is another current, in proportion: nothing is rounded to the step.
    const double dt = 1 / 60.0 / 333;
    double last = Tcr(2.0).harmonic(1, dt);
    const double slope = (Tcr(2.0 + kOmega * dt).closed_form(1) - Tcr(2.0).closed_form(1)) / 10;
    for (int i = 1; i <= 10; ++i) {
        const double now = Tcr(2.0 + kOmega * dt * i / 10).harmonic(1, dt);
        EXPECT_NEAR(now - last, slope, 0.25 * std::abs(slope));
        last = now;
    }
}

TEST(Instants, AReactorOpensAtItsCurrentZeroWithoutTrappedCurrent) {
    // 1 H with 1 nF of its own behind a breaker: after the current zero at the voltage's crest the reactor rings at
    // 1/(2π√(LC)) from there, with the crest as its peak. Opened up to a step late it would carry current on.
    const auto peak = [](double dt) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1e-3,"amplitude":1000},
                                  {"type":"switch","name":"S","nodes":["s","a"],"closed":true,"current_zero":true,"operations":[{"time":0.02003,"action":"open"}]},
                                  {"type":"inductor","name":"L","nodes":["a","0"],"l":1},{"type":"capacitor","name":"C","nodes":["a","0"],"c":1e-7})",
                               dt, R"("start":"steady","nodes":["s","a"],)"));
        s.run(static_cast<int>(std::lround(0.035 / dt)));
        double top = 0;
        for (double end = s.time() + 0.02; s.time() < end;) {
            s.run(1);
            top = std::max(top, std::abs(s.v("a")));
        }
        return top;
    };
    // i_L + i_C = 0 at the crest of the voltage: only the energy of the crest counts, for any L and C.
    EXPECT_NEAR(peak(50e-6), 1000, 7);
    EXPECT_NEAR((peak(50e-6) - 1000) / (peak(25e-6) - 1000), 4, 0.3);
}

TEST(Instants, BitsDoNotDependOnTheKernels) {
    const std::string text = make_case(R"({"type":"source","name":"E","bus":"S","amplitude":100,"r1":0.1,"l1":1e-3},
                              {"type":"diode","name":"P","buses":["S","P"],"r_off":1e6},{"type":"resistor","name":"R","buses":["P","0"],"r":10},
                              {"type":"inductor","name":"L","buses":["P","0"],"l":0.1})", 50e-6, R"("start":"zero","buses":["S","P"],)");
    expect_same_bits(text, 800);
}

TEST(Instants, AValveThatIsTooLongOnIsRefused) {
    const std::string text = make_case(R"({"type":"voltage_source","name":"E","to":"s","r":1,"amplitude":1},{"type":"resistor","name":"R","nodes":["a","0"],"r":1},
                                          {"type":"thyristor","name":"T","nodes":["s","a"],"start":0,"width":0.02})", 50e-6, R"("start":"zero","nodes":["s","a"],)");
    EXPECT_THROW(static_cast<void>(parse_case(text, "test")), CaseError);
}

}  // namespace
}  // namespace emt::test
