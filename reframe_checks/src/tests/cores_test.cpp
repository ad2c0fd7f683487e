#include "node/cores.hpp"

#include <gtest/gtest.h>

namespace {

using namespace measure::node;

// Even numbers on one socket, odd numbers on the other, as on many machines.
std::vector<Core> in_turns(int cores) {
    std::vector<Core> found;
    for (int number = 0; number < cores; ++number) {
        found.push_back({number, number % 2});
    }
    return in_order(found);
}

TEST(Fills, AreSpreadOverDomains) {
    EXPECT_EQ(chosen(in_turns(8), 4, true), (std::vector{0, 4, 1, 5}));
    EXPECT_EQ(chosen(in_turns(8), 2, true), (std::vector{0, 1}));
    EXPECT_EQ(chosen(in_turns(6), 3, true), (std::vector{0, 4, 3}));
}

TEST(Fills, ArePackedIntoTheFirstDomain) { EXPECT_EQ(chosen(in_turns(8), 4, false), (std::vector{0, 2, 4, 6})); }

TEST(Fills, KnowTheMemoryOfTheNode) { EXPECT_GT(available_mib(), 1); }

}  // namespace
