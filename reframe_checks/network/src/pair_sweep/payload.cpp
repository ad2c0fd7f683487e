#include "payload.hpp"

#include <algorithm>
#include <cstring>

#include "split_mix.hpp"

namespace {

std::uint64_t word(std::uint64_t sender, std::uint64_t number, std::uint64_t place) {
    return sweep::mixed((sender << 40U) + (number << 20U) + place);
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
