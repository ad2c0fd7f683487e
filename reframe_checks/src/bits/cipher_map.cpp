#include "bits/cipher_map.hpp"

#include <cstddef>

#include "bits/digest.hpp"

namespace measure::bits {

namespace {

template <typename Half>
void change(Half& half, const Half& other, std::uint64_t factor, std::size_t shift) {
    const auto by = [factor](std::uint64_t word) {
        word *= factor;
        return word ^ (word >> 29U);
    };
    const std::size_t wrap = half.size() - shift;
    for (std::size_t i = 0; i < wrap; ++i) {
        half[i] += by(other[i + shift]);
    }
    for (std::size_t i = wrap; i < half.size(); ++i) {
        half[i] += by(other[i - wrap]);
    }
}

}  // namespace

void CipherMap::begin() {
    std::uint64_t seed = scrambled(variant_ + 1001);
    for (std::uint64_t& factor : factors_) {
        factor = scrambled(++seed) | 1U;
    }
    for (Half* half : {&left_, &right_}) {
        for (std::uint64_t& word : *half) {
            word = scrambled(++seed);
        }
    }
    slice_ = 0;
}

bool CipherMap::advance() {
    for (int step = 0; step < kStepsPerSlice; ++step) {
        const auto turn = static_cast<std::size_t>(step) % factors_.size();
        change(left_, right_, factors_[turn], std::size_t{1} << turn);
        change(right_, left_, factors_[turn], 0);
    }
    return ++slice_ < kSlices;
}

std::uint64_t CipherMap::digest() {
    Digest digest;
    digest.absorb(std::span<const std::uint64_t>(left_));
    digest.absorb(std::span<const std::uint64_t>(right_));
    digest.absorb(std::span<const std::uint64_t>(factors_));
    return digest.value();
}

}  // namespace measure::bits
