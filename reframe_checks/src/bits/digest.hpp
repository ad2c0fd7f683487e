// A digest of words in order: lane <- odd lane + word. The step is invertible, so that an error never disappears.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/split_mix.hpp"

namespace measure::bits {

class Digest {
  public:
    // The number of words is a multiple of kLanes. Compilers vectorise the loop over lanes.
    template <typename Word>
    void absorb(std::span<const Word> words) {
        static_assert(sizeof(Word) == sizeof(std::uint64_t));
        assert(words.size() % kLanes == 0);
        const Word* word = words.data();
        for (std::size_t group = words.size() / kLanes; group > 0; --group) {
            for (std::uint64_t& lane : lanes_) {
                lane = lane * kStride + std::bit_cast<std::uint64_t>(*word++);
            }
        }
    }
    [[nodiscard]] std::uint64_t value() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t lane : lanes_) {
            sum = scrambled(sum ^ lane);
        }
        return sum;
    }

  private:
    static constexpr std::size_t kLanes = 8;
    std::array<std::uint64_t, kLanes> lanes_{};
};

}  // namespace measure::bits
