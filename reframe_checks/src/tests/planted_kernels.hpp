// Flips a bit that a kernel still needs; for tests only.
#pragma once

#include <cstdint>
#include <cstring>

#include "node/kernels.hpp"

namespace measure::node {

struct Planted {
    static void flip(double& value, unsigned bit) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        bits ^= std::uint64_t{1} << bit;
        std::memcpy(&value, &bits, sizeof bits);
    }
    // Returns a value that the next pass reads; values that it overwrites are dead.
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

}  // namespace measure::node
