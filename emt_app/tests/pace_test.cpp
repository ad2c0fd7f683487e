// Overruns of steps that are held to wall time, with a clock that is told.
#include <gtest/gtest.h>

#include "measure/pace.hpp"

namespace emt {
namespace {

class Told : public Pace {
public:
    using Pace::Pace;
    /// A step ends so many microseconds after the start.
    void ends_at_us(double us) { hold(start() + std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1e3))); }
};

TEST(Pace, CountsStepsThatAreLateAndHowLate) {
    Told pace(50e-6);
    for (const double us : {10.0, 99.0, 160.0, 190.0, 251.0, 300.0, 351.5}) pace.ends_at_us(us);
    EXPECT_EQ(pace.steps(), 7U);
    EXPECT_EQ(pace.overruns(), 3U);  // 10, 1 and 1.5 us late
    EXPECT_EQ(pace.episodes(), 3U);
    EXPECT_DOUBLE_EQ(pace.worst_us(), 10);
}

TEST(Pace, ALongDisturbanceIsOneEpisodeOfManyOverruns) {
    Told pace(50e-6);
    for (int k = 1; k <= 10; ++k) pace.ends_at_us(50.0 * k + (k >= 4 && k < 9 ? 100 : -1));
    EXPECT_EQ(pace.overruns(), 5U);
    EXPECT_EQ(pace.episodes(), 1U);
}

TEST(Pace, LatenessOfOneStepInAThousandIsNearTheQuantile) {
    Told pace(1e-6);
    for (int k = 1; k <= 2000; ++k) pace.ends_at_us(k + (k % 500 == 0 ? 8.0 : -0.5));
    EXPECT_EQ(pace.overruns(), 4U);
    EXPECT_NEAR(pace.late_p999_us(), 8, 0.2);
    EXPECT_DOUBLE_EQ(pace.worst_us(), 8);
}

TEST(Pace, AStepEndsNotBeforeItsTime) {
    const auto before = Pace::Clock::now();
    Pace pace(2e-3);
    for (int k = 0; k < 5; ++k) pace.hold();
    EXPECT_GE(Pace::Clock::now() - before, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace emt
