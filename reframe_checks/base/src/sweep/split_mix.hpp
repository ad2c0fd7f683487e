// SplitMix64 (Steele, Lea and Flood 2014): numbers that have nothing in common, the same on every rank and machine.
#pragma once

#include <cstdint>

namespace sweep {

// Odd, so that no two of its multiples are the same.
constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15ULL;

// Its output function: neighbouring numbers have nothing in common.
constexpr std::uint64_t mixed(std::uint64_t bits) {
    bits += kStride;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31U);
}

}  // namespace sweep
