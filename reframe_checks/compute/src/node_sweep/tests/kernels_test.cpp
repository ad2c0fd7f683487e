// Every bit that is flipped in what the kernels still need is seen at the end, however many passes later.
#include "kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>

struct Planted {
    static void flip(double& value, unsigned bit) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        bits ^= std::uint64_t{1} << bit;
        std::memcpy(&value, &bits, sizeof bits);
    }
    // What the next pass reads; what it overwrites is dead.
    static double& live(Triad& triad, std::size_t draw) {
        auto& source = triad.back_ ? triad.a_ : triad.b_;
        const std::size_t length = source.size();
        const std::size_t place = draw % (2 * length + 1);
        return place == 2 * length ? triad.factor_ : place < length ? source[place] : triad.c_[place - length];
    }
    static double& live(MultiplyAdd& map, std::size_t draw) {
        const std::size_t place = draw % (MultiplyAdd::kLanes + 2);
        return place < MultiplyAdd::kLanes ? map.lanes_[place] : place == MultiplyAdd::kLanes ? map.factor_ : map.addend_;
    }
};

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
