// Content of a message that tells where it comes from, so that a wrong byte is said with its place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "split_mix.hpp"

namespace sweep {

// Of what a message carries: where from and where to, in which iteration, and which of several.
struct Label {
    int sender;
    int receiver;
    int iteration;
    int part = 0;
};

inline std::uint64_t first_word(const Label& label) {
    const auto number = [](int value) { return static_cast<std::uint64_t>(value); };
    return mixed(mixed(mixed(mixed(number(label.sender)) + number(label.receiver)) + number(label.iteration)) + number(label.part));
}

inline void fill(std::span<char> message, const Label& label) {
    std::uint64_t word = first_word(label);
    std::size_t place = 0;
    for (; place + sizeof word <= message.size(); place += sizeof word, word += kStride) {
        std::memcpy(message.data() + place, &word, sizeof word);
    }
    if (place < message.size()) {
        std::memcpy(message.data() + place, &word, message.size() - place);
    }
}

// Throws std::runtime_error with the number of wrong bytes and the first of them.
inline void require(std::span<const char> message, const Label& label) {
    std::uint64_t word = first_word(label);
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t place = 0; place < message.size(); place += sizeof word, word += kStride) {
        const std::size_t bytes = std::min(sizeof word, message.size() - place);
        if (std::memcmp(message.data() + place, &word, bytes) == 0) {
            continue;
        }
        std::array<char, sizeof word> expected{};
        std::memcpy(expected.data(), &word, sizeof word);
        for (std::size_t i = 0; i < bytes; ++i) {
            if (message[place + i] != expected[i]) {
                first = wrong == 0 ? place + i : first;
                ++wrong;
            }
        }
    }
    if (wrong > 0) {
        throw std::runtime_error("wrong payload: " + std::to_string(wrong) + " of " + std::to_string(message.size()) +
                                 " bytes from rank " + std::to_string(label.sender) + " to rank " + std::to_string(label.receiver) +
                                 " in iteration " + std::to_string(label.iteration) + ", part " + std::to_string(label.part) +
                                 ", the first at byte " + std::to_string(first));
    }
}

}  // namespace sweep
