// A healthy linear network starts in steady state and stays there.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "digests.hpp"
#include "generate/hq.hpp"
#include "network/phasor.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

TEST(SteadyState, ReferenceNetworkDriftsLessThan1e10OverOneSecond) {
    Simulation s(generate_hq(1, 3, HqModel::network).dump());
    const std::vector<Complex> phasors = solve_phasors(s.study().network);
    s.run(20000);
    const Complex turn = std::polar(1.0, 2 * std::numbers::pi * 60 * s.time());
    for (int i = 0; i < s.study().network.nodes(); ++i) {
        const Complex v = phasors[static_cast<std::size_t>(i)];
        const std::string& name = s.study().network.node_names[static_cast<std::size_t>(i)];
        const double scale = std::max(1e3, std::abs(v));  // the neutral is at zero
        EXPECT_LT(std::abs(s.engine().voltage(i) - (v * turn).real()) / scale, 1e-10) << name << " of " << std::abs(v) << " V";
    }
}

TEST(SteadyState, ReferenceNetworkIsHealthy) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Case c = parse_case(generate_hq(1, seed, HqModel::network).dump(), "hq");
        const std::vector<Complex> v = solve_phasors(c.network);
        for (int i = 0; i < c.network.nodes(); ++i) {
            const std::string& name = c.network.node_names[static_cast<std::size_t>(i)];
            if (name.find_first_of("TN") != std::string::npos) continue;  // low sides have many levels
            const int task = std::stoi(name.substr(1));
            const double rated = (task < 60 ? 735e3 : task < 150 ? 315e3 : 120e3) * std::sqrt(2.0 / 3);
            EXPECT_GT(std::abs(v[static_cast<std::size_t>(i)]) / rated, 0.85) << name << " seed " << seed;
            EXPECT_LT(std::abs(v[static_cast<std::size_t>(i)]) / rated, 1.15) << name << " seed " << seed;
        }
    }
}

TEST(SteadyState, SmoothStartIsOfSecondOrder) {
    // A sine that starts at its zero behind an inductance: compare with a fine step.
    const auto at_5ms = [](double dt) {
        Simulation s(make_case(R"({"type":"voltage_source","name":"E","to":"a","l":0.01,"amplitude":100,"phase":-90},
                                  {"type":"resistor","name":"R","nodes":["a","0"],"r":20},{"type":"capacitor","name":"C","nodes":["a","0"],"c":5e-6})",
                               dt, R"("start":"zero","nodes":["a"],)"));
        s.run(static_cast<int>(std::lround(5e-3 / dt)));
        return s.v("a");
    };
    const double fine = at_5ms(1e-6);
    EXPECT_NEAR((at_5ms(50e-6) - fine) / (at_5ms(25e-6) - fine), 4, 0.4);
}

TEST(SteadyState, AllInstructionSetsGiveTheSameBits) {
    expect_same_bits(generate_hq(1, 5).dump(), 300);
}

}  // namespace
}  // namespace emt::test
