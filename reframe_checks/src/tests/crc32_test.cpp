#include "pairs/crc32.hpp"

#include <gtest/gtest.h>

#include <string_view>

TEST(Crc32, HasTheCheckValueOfItsDefinition) {
    measure::pairs::Crc32 sum;
    // In two parts, like a file.
    for (const std::string_view part : {"12345", "6789"}) {
        sum.add(std::as_bytes(std::span(part)));
    }
    EXPECT_EQ(sum.value(), 0xcbf43926U);
}
