#include "node/numa.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

TEST(Numa, AChaseVisitsEveryLineOnce) {
    const auto order = measure::node::cycle(1000);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 1000U);
    EXPECT_EQ(*std::max_element(order.begin(), order.end()), 999U);
}

TEST(Numa, DomainsOfCores) { EXPECT_EQ(measure::node::domains({{0, 2}, {1, 0}, {2, 2}}), (std::vector{0, 2})); }

TEST(Numa, OwnMemoryIsNearest) { EXPECT_EQ(measure::node::distance(0, 0), 10); }

}  // namespace
