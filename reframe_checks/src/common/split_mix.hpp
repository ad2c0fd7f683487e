// SplitMix64 (Steele, Lea and Flood 2014): unrelated numbers, the same on every rank and machine.
#pragma once

#include <cstdint>

namespace measure {

// Odd, so that all its multiples differ.
constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15ULL;

// A bijection of 64 bits in which every input bit changes half of the output bits (Stafford's variant 13).
constexpr std::uint64_t scrambled(std::uint64_t word) {
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31U);
}

// SplitMix64's output function: neighbouring numbers have unrelated results.
constexpr std::uint64_t mixed(std::uint64_t bits) { return scrambled(bits + kStride); }

}  // namespace measure
