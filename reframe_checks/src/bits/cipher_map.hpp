// A chaotic map that forgets nothing: a Feistel network over integers, as ciphers are built.
//
// Each half is changed by a function of the other, which can be undone whatever the function: two states that differ stay
// different for ever, and after some twenty steps in half of their bits.
#pragma once

#include <array>

#include "bits/work.hpp"

namespace measure::bits {

class CipherMap : public Work {
  public:
    explicit CipherMap(std::uint64_t variant) : variant_(variant) {}

    [[nodiscard]] std::string name() const override { return "map"; }
    [[nodiscard]] std::string basis() const override { return "integers"; }
    void begin() override;
    bool advance() override;
    // Of the last state, which no other history leads to, and of the factors.
    [[nodiscard]] std::uint64_t digest() override;

  private:
    friend struct Planted;  // of the tests
    static constexpr std::size_t kHalf = 256;
    static constexpr int kSlices = 400, kStepsPerSlice = 40;
    using Half = std::array<std::uint64_t, kHalf>;

    std::uint64_t variant_;
    Half left_{}, right_{};
    std::array<std::uint64_t, 8> factors_{};
    int slice_ = 0;
};

}  // namespace measure::bits
