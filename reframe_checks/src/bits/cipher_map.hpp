// A chaotic, invertible map: a Feistel network over integers, the structure of ciphers.
//
// A function of one half changes the other half, which can be undone for any function. Two different states therefore
// stay different forever; after about twenty steps, half of their bits differ.
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
    // Digest of the factors and of the last state, which only this history reaches.
    [[nodiscard]] std::uint64_t digest() override;

  private:
    friend struct Planted;  // for tests
    static constexpr std::size_t kHalf = 256;
    static constexpr int kSlices = 400, kStepsPerSlice = 40;
    using Half = std::array<std::uint64_t, kHalf>;

    std::uint64_t variant_;
    Half left_{}, right_{};
    std::array<std::uint64_t, 8> factors_{};
    int slice_ = 0;
};

}  // namespace measure::bits
