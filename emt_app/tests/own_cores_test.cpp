// Which of the processors that a process may use are cores of their own.
#include "base/own_cores.hpp"

#include <gtest/gtest.h>

namespace emt::test {
namespace {

using Cpus = std::vector<int>;

TEST(OwnCores, OfTheThreadsOfACoreOnlyTheFirst) {
    const auto neighbours = [](int cpu) { return std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1); };
    EXPECT_EQ(cores::first_threads({0, 1, 2, 3}, neighbours), (Cpus{0, 2}));
    const auto halves = [](int cpu) { return std::to_string(cpu % 64) + "," + std::to_string(cpu % 64 + 64); };
    EXPECT_EQ(cores::first_threads({1, 2, 65, 66}, halves), (Cpus{1, 2}));
}

TEST(OwnCores, AThreadWhoseFirstIsNotUsable) {
    const auto halves = [](int cpu) { return std::to_string(cpu % 64) + "," + std::to_string(cpu % 64 + 64); };
    EXPECT_EQ(cores::first_threads({2, 65}, halves), (Cpus{2, 65}));
}

TEST(OwnCores, WhereTheKernelDoesNotSayEachIsACore) {
    EXPECT_EQ(cores::first_threads({0, 1, 2}, [](int) { return std::string(); }), (Cpus{0, 1, 2}));
}

TEST(OwnCores, SomeOfThisProcess) { EXPECT_FALSE(cores::own().empty()); }

}  // namespace
}  // namespace emt::test
