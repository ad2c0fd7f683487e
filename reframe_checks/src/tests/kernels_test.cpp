// Every flipped bit that a kernel still reads shows at the end, however many passes later.
#include <gtest/gtest.h>

#include <random>

#include "tests/planted_kernels.hpp"

namespace measure::node {
namespace {

template <typename Make>
int unseen(const Make& make, int trials) {
    std::mt19937_64 draw(1);
    int count = 0;
    for (int trial = 0; trial < trials; ++trial) {
        auto kernel = make();
        const auto before = draw() % 3;
        for (std::uint64_t pass = 0; pass < before; ++pass) {
            kernel.pass();
        }
        EXPECT_TRUE(kernel.correct());
        Planted::flip(Planted::live(kernel, draw()), static_cast<unsigned>(trial) % 64);
        for (auto pass = draw() % 3 + 1; pass > 0; --pass) {
            kernel.pass();
        }
        count += kernel.correct() ? 1 : 0;
    }
    return count;
}

TEST(Kernels, TriadForgetsNoFlip) {
    EXPECT_EQ(unseen([] { return Triad(3000); }, 4000), 0);
}

TEST(Kernels, MultiplyAddForgetsNoFlip) {
    EXPECT_EQ(unseen([] { return MultiplyAdd(); }, 2000), 0);
}

}  // namespace
}  // namespace measure::node
