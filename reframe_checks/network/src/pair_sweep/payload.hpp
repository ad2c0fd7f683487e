// What messages carry, so that the receiver can tell whether it arrived: every word depends on the sender, a number, its place.
#pragma once

#include <cstdint>
#include <span>

void fill(std::span<char> message, std::uint64_t sender, std::uint64_t number);
[[nodiscard]] bool arrived(std::span<const char> message, std::uint64_t sender, std::uint64_t number);

// Messages whose content was compared, and how many of them had another.
struct Payloads {
    double messages = 0;
    double wrong = 0;

    void count(bool right) {
        messages += 1;
        wrong += right ? 0 : 1;
    }
};
