// Lines against the lattice diagram: whole-step travel times must agree to rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "simulation.hpp"

namespace emt::test {
namespace {

constexpr double kDt = 10e-6, kZ0 = 600, kZ1 = 300;
constexpr int kSteps0 = 30, kSteps1 = 20;  // travel times in steps

/// A lossless line of 1 km with the given surge impedances and travel times; `pattern` are the source amplitudes.
std::string line_case(std::array<double, 3> pattern, double load_ohm, const std::string& more = "", double extra_delay = 0) {
    const auto l = [&](double z, double steps) { return std::to_string(z * (steps + extra_delay) * kDt / 1000 * 1e12) + "e-12"; };
    const auto c = [&](double z, double steps) { return std::to_string((steps + extra_delay) * kDt / z / 1000 * 1e18) + "e-18"; };
    std::string e;
    for (int k = 0; k < 3; ++k) {
        const std::string phase(1, static_cast<char>('a' + k));
        e += R"({"type":"voltage_source","name":"E)" + phase + R"(","to":"S.)" + phase + R"(","r":50,"shape":"step","amplitude":)" +
             std::to_string(pattern[static_cast<std::size_t>(k)]) + "},";
    }
    return make_case(e + R"({"type":"line","name":"L","from":"S","to":"R","length":1000,"r0":0,"r1":0,"l0":)" + l(kZ0, kSteps0) + R"(,"c0":)" +
                         c(kZ0, kSteps0) + R"(,"l1":)" + l(kZ1, kSteps1) + R"(,"c1":)" + c(kZ1, kSteps1) + more +
                         R"(},{"type":"resistor","name":"Load","buses":["R","0"],"r":)" + std::to_string(load_ohm) + "}",
                     kDt, R"("start":"zero","buses":["S","R"],)");
}

/// Receiving end voltage by the lattice diagram for a unit step behind 50 ohm.
double lattice(double z, double load, int travel, int step) {
    const double source = (50 - z) / (50 + z), end = (load - z) / (load + z), first = z / (z + 50);
    double sum = 0, wave = first;
    // The step is on just after t = 0: at the travel time itself its front is not there yet.
    for (int arrival = travel; arrival < step; arrival += 2 * travel) {
        sum += wave * (1 + end);
        wave *= end * source;
    }
    return sum;
}

struct Mode {
    const char* name;
    std::array<double, 3> pattern;
    double z;
    int travel;
};

class LatticeTest : public testing::TestWithParam<std::tuple<int, double>> {};

TEST_P(LatticeTest, WholeStepDelaysAreExact) {
    const std::array<Mode, 3> modes{{{"zero", {1, 1, 1}, kZ0, kSteps0}, {"alpha", {1, -0.5, -0.5}, kZ1, kSteps1}, {"beta", {0, 1, -1}, kZ1, kSteps1}}};
    const Mode& mode = modes[static_cast<std::size_t>(std::get<0>(GetParam()))];
    const double load = std::get<1>(GetParam());
    Simulation s(line_case(mode.pattern, load));
    for (int n = 1; n <= 400; ++n) {
        s.run(1);
        // At the instant at which a front arrives the wave is the mean of those before and after it.
        const double mean = (lattice(mode.z, load, mode.travel, n) + lattice(mode.z, load, mode.travel, n + 1)) / 2;
        for (int k = 0; k < 3; ++k) {
            const std::string node = std::string("R.") + static_cast<char>('a' + k);
            EXPECT_NEAR(s.v(node), mode.pattern[static_cast<std::size_t>(k)] * mean, 2e-12) << mode.name << " step " << n;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OpenMatchedShorted, LatticeTest, testing::Combine(testing::Values(0, 1, 2), testing::Values(1e9, 300.0, 600.0, 1e-6)));

TEST(Line, LossesMatchTheLumpedModelAtDc) {
    // R/4 – R/2 – R/4 in series: at DC the line is its resistance.
    Simulation s(line_case({1, 1, 1}, 100, R"(,"delay":"integer")"));
    s.run(20000);
    EXPECT_NEAR(s.v("R.a"), 100.0 / 150, 1e-9);
    std::string lossy = line_case({1, 1, 1}, 100);
    lossy.replace(lossy.find("\"r0\":0"), 6, "\"r0\":0.08");
    Simulation t(lossy);
    t.run(20000);
    EXPECT_NEAR(t.v("R.a"), 100.0 / 230, 1e-9);
}

TEST(Line, InterpolationSpreadsAFrontOverThreeSteps) {
    // Three quarters of each sample 0, 1/2, 1, and one quarter of the sample before.
    Simulation s(line_case({1, -0.5, -0.5}, kZ1, "", 0.25));
    const double full = lattice(kZ1, kZ1, kSteps1, kSteps1 + 1);
    s.run(kSteps1);
    for (const double part : {0.375, 0.875, 1.0}) {
        EXPECT_NEAR(s.v("R.a"), part * full, 1e-9);
        s.run(1);
    }
}

TEST(Line, EndsAreSeparateTasks) {
    Simulation s(line_case({1, 1, 1}, 100));
    EXPECT_EQ(s.parts().tasks.size(), 2U);
    EXPECT_EQ(s.parts().islands, 1);
}

}  // namespace
}  // namespace emt::test
