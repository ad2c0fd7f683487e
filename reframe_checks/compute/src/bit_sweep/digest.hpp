// A digest of words that depends on their order: lane <- odd lane + word, which no error that enters ever leaves.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

// A bijection of 64 bits in which every bit moves half of the others (Stafford's variant 13, as in SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31U);
}

class Digest {
  public:
    // So many words that all lanes get as many. Lane by lane side by side, which compilers turn into vectors.
    template <typename Word>
    void absorb(std::span<const Word> words) {
        static_assert(sizeof(Word) == sizeof(std::uint64_t));
        assert(words.size() % kLanes == 0);
        const Word* word = words.data();
        for (std::size_t group = words.size() / kLanes; group > 0; --group) {
            for (std::uint64_t& lane : lanes_) {
                lane = lane * kOdd + std::bit_cast<std::uint64_t>(*word++);
            }
        }
    }
    [[nodiscard]] std::uint64_t value() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t lane : lanes_) {
            sum = mixed(sum ^ lane);
        }
        return sum;
    }

  private:
    static constexpr std::size_t kLanes = 8;
    static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    std::array<std::uint64_t, kLanes> lanes_{};
};
