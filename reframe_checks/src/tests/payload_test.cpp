#include "common/payload.hpp"

#include <gtest/gtest.h>

#include <vector>

using measure::arrived;
using measure::fill;
using measure::Label;

TEST(Payload, EveryBitThatIsFlippedIsSeen) {
    for (const std::size_t bytes : {1U, 7U, 8U, 20U}) {
        std::vector<char> message(bytes);
        fill(message, Label{3, 1, 5});
        EXPECT_TRUE(arrived(message, {3, 1, 5}));
        for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
            message[bit / 8] = static_cast<char>(message[bit / 8] ^ (1 << bit % 8));
            EXPECT_FALSE(arrived(message, {3, 1, 5})) << bit << " of " << bytes << " bytes";
            message[bit / 8] = static_cast<char>(message[bit / 8] ^ (1 << bit % 8));
        }
    }
}

TEST(Payload, WhatAnotherSentOrBeforeIsSeen) {
    std::vector<char> message(64);
    fill(message, Label{3, 1, 5});
    EXPECT_FALSE(arrived(message, {2, 1, 5}));
    EXPECT_FALSE(arrived(message, {3, 1, 4}));
    EXPECT_FALSE(arrived(message, {3, 2, 5}));
    EXPECT_FALSE(arrived(message, {3, 1, 5, 1}));
}
