#include "bits/memory_walk.hpp"

#include <array>
#include <cstring>

#include "bits/digest.hpp"

namespace measure::bits {

MemoryWalk::MemoryWalk(std::uint64_t variant, std::size_t blocks, std::size_t block_words)
    : variant_(variant), memory_(blocks * block_words), block_words_(block_words) {}

void MemoryWalk::begin() {
    block_ = (block_ + block_words_) % memory_.size();
    walk_ = kFill;
    slice_ = 0;
    read_ = 0;
}

void MemoryWalk::look(const std::uint64_t* words) {
    Digest digest;
    digest.absorb(std::span<const std::uint64_t>(words, kSliceWords));
    read_ = scrambled(read_ ^ digest.value());
}

void MemoryWalk::invert(std::uint64_t* words) {
    look(words);
    for (std::size_t i = 0; i < kSliceWords; ++i) {
        words[i] = ~words[i];
    }
}

bool MemoryWalk::advance() {
    std::uint64_t* const block = memory_.data() + block_;
    const std::size_t place = slice_ * kSliceWords;
    const std::size_t half = block_words_ / 2;
    switch (walk_) {
        case kFill:
            for (std::size_t i = place; i < place + kSliceWords; ++i) {
                block[i] = scrambled(variant_ * block_words_ + i);
            }
            break;
        case kUp: invert(block + place); break;
        case kDown: invert(block + block_words_ - place - kSliceWords); break;
        case kExchange: {
            std::array<std::uint64_t, kSliceWords> kept;
            std::memcpy(kept.data(), block + place, sizeof kept);
            std::memcpy(block + place, block + half + place, sizeof kept);
            std::memcpy(block + half + place, kept.data(), sizeof kept);
            break;
        }
        default: look(block + place);
    }
    if (++slice_ == (walk_ == kExchange ? half : block_words_) / kSliceWords) {
        slice_ = 0;
        ++walk_;
    }
    return walk_ <= kRead;
}

}  // namespace measure::bits
