// The generated reference network has exactly the counts of Table I.
#include <gtest/gtest.h>

#include "generate/hq.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

TEST(ReferenceNetwork, HasTheCountsOfTableOneForEverySeed) {
    const Census table{.nodes = 1099, .machines = 37, .condensers = 4, .svcs = 7, .lines = 170, .transformers = 131, .rlc = 3117, .nonlinear = 249, .switches = 106, .control = 332};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Case c = parse_case(generate_hq(1, seed).dump(), "hq");
        EXPECT_EQ(c.census, table) << "seed " << seed;
        const Decomposition parts = decompose(c.network);
        EXPECT_EQ(parts.tasks.size(), 172U);
        EXPECT_EQ(parts.islands, 12);
        EXPECT_EQ(c.simplified.size(), 2U);
    }
}

TEST(ReferenceNetwork, ScalesByCopiesTiedByLines) {
    const Case c = parse_case(generate_hq(3, 1).dump(), "hq");
    EXPECT_EQ(c.census.nodes, 3 * 1099);
    EXPECT_EQ(c.census.lines, 3 * 170 + 2 * 2);
    const Decomposition parts = decompose(c.network);
    EXPECT_EQ(parts.tasks.size(), 3U * 172);
    EXPECT_EQ(parts.islands, 3 * 11 + 1);
}

}  // namespace
}  // namespace emt::test
