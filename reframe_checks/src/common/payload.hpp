// Content of a message that depends on its origin, so that errors name the place of a wrong byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "common/split_mix.hpp"

namespace measure {

// The identity of a message; `part`: its number among several of an iteration.
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

// Fills the message; every word depends on the label and on its place.
inline void fill(std::span<char> message, const Label& label) {
    std::uint64_t word = first_word(label);
    for (std::size_t place = 0; place < message.size(); place += sizeof word, word += kStride) {
        std::memcpy(message.data() + place, &word, std::min(sizeof word, message.size() - place));
    }
}

// Number and first place of bytes that differ from the content of the label.
struct WrongBytes {
    std::size_t count = 0;
    std::size_t first = 0;
};

inline WrongBytes wrong_bytes(std::span<const char> message, const Label& label) {
    WrongBytes wrong;
    std::uint64_t word = first_word(label);
    for (std::size_t place = 0; place < message.size(); place += sizeof word, word += kStride) {
        const std::size_t bytes = std::min(sizeof word, message.size() - place);
        if (std::memcmp(message.data() + place, &word, bytes) == 0) {
            continue;
        }
        std::array<char, sizeof word> expected{};
        std::memcpy(expected.data(), &word, sizeof word);
        for (std::size_t i = 0; i < bytes; ++i) {
            if (message[place + i] != expected[i]) {
                wrong.first = wrong.count == 0 ? place + i : wrong.first;
                ++wrong.count;
            }
        }
    }
    return wrong;
}

inline bool arrived(std::span<const char> message, const Label& label) { return wrong_bytes(message, label).count == 0; }

// Throws std::runtime_error with the number of wrong bytes and the place of the first.
inline void require(std::span<const char> message, const Label& label) {
    if (const WrongBytes wrong = wrong_bytes(message, label); wrong.count > 0) {
        throw std::runtime_error("wrong payload: " + std::to_string(wrong.count) + " of " + std::to_string(message.size()) +
                                 " bytes from rank " + std::to_string(label.sender) + " to rank " + std::to_string(label.receiver) +
                                 " in iteration " + std::to_string(label.iteration) + ", part " + std::to_string(label.part) +
                                 ", the first at byte " + std::to_string(wrong.first));
    }
}

}  // namespace measure
