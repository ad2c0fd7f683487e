#include "pairs/schedule.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

using namespace measure::pairs;

class Tournament : public testing::TestWithParam<int> {};

TEST_P(Tournament, MeetsEveryPairOnceInTheFewestRounds) {
    const int nodes = GetParam();
    std::set<std::pair<int, int>> met;
    const auto rounds = tournament(nodes);
    EXPECT_EQ(static_cast<int>(rounds.size()), nodes % 2 == 0 ? nodes - 1 : nodes);
    for (const Round& round : rounds) {
        for (const Pair& pair : round.pairs) {
            EXPECT_LT(pair.first, pair.second);
            EXPECT_TRUE(met.insert({pair.first, pair.second}).second);
        }
    }
    EXPECT_EQ(static_cast<int>(met.size()), nodes * (nodes - 1) / 2);
}

TEST_P(Tournament, NoNodeIsTwiceInARound) {
    const int nodes = GetParam();
    for (const Round& round : tournament(nodes)) {
        std::set<int> seen;
        for (const Pair& pair : round.pairs) {
            EXPECT_TRUE(seen.insert(pair.first).second);
            EXPECT_TRUE(seen.insert(pair.second).second);
        }
        EXPECT_EQ(round.idle.has_value(), nodes % 2 == 1);
        if (round.idle) {
            EXPECT_TRUE(seen.insert(*round.idle).second);
        }
        EXPECT_EQ(static_cast<int>(seen.size()), nodes);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Tournament, testing::Values(2, 3, 4, 5, 8, 17, 64, 101));

TEST(Tournament, FewerThanTwoNodesHaveNoRound) {
    EXPECT_TRUE(tournament(1).empty());
    EXPECT_TRUE(tournament(0).empty());
}
