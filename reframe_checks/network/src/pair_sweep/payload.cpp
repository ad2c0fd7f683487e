#include "payload.hpp"

#include <algorithm>
#include <cstring>

namespace {

// SplitMix64's output function (Steele, Lea and Flood 2014): neighbouring numbers have nothing in common.
std::uint64_t word(std::uint64_t sender, std::uint64_t number, std::uint64_t place) {
    std::uint64_t bits = (sender << 40U) + (number << 20U) + place + 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31U);
}

template <typename Act>
bool each_word(std::size_t bytes, std::uint64_t sender, std::uint64_t number, const Act& act) {
    for (std::size_t start = 0; start < bytes; start += sizeof(std::uint64_t)) {
        const std::uint64_t expected = word(sender, number, start / sizeof expected);
        if (!act(start, &expected, std::min(sizeof expected, bytes - start))) {
            return false;
        }
    }
    return true;
}

}  // namespace

void fill(std::span<char> message, std::uint64_t sender, std::uint64_t number) {
    each_word(message.size(), sender, number, [message](std::size_t start, const void* expected, std::size_t bytes) {
        std::memcpy(message.data() + start, expected, bytes);
        return true;
    });
}

bool arrived(std::span<const char> message, std::uint64_t sender, std::uint64_t number) {
    return each_word(message.size(), sender, number, [message](std::size_t start, const void* expected, std::size_t bytes) {
        return std::memcmp(message.data() + start, expected, bytes) == 0;
    });
}
