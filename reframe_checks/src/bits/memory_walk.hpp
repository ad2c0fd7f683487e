// Copies and pattern walks through memory, as in memory testers (moving inversions; A. J. van de Goor, "Testing
// Semiconductor Memories", 1991). Every word is read before it is written again, and the digest has all read words.
//
// up: write; up: read, write its inverse; down: read, write its inverse; exchange the halves by copies; up: read.
#pragma once

#include <vector>

#include "bits/work.hpp"

namespace measure::bits {

class MemoryWalk : public Work {
  public:
    // `block_words` is an even number of pages. Each round walks through the next block; every round has the same bits.
    MemoryWalk(std::uint64_t variant, std::size_t blocks, std::size_t block_words = kBlockWords);

    static constexpr std::size_t kBlockWords = std::size_t{2} << 20U;  // 16 MiB

    [[nodiscard]] std::string name() const override { return "memory"; }
    [[nodiscard]] std::string basis() const override { return "integers"; }
    void begin() override;
    bool advance() override;
    [[nodiscard]] std::uint64_t digest() override { return read_; }

  private:
    friend struct Planted;  // for tests
    enum Walk { kFill, kUp, kDown, kExchange, kRead };
    static constexpr std::size_t kSliceWords = 1024;

    void invert(std::uint64_t* words);
    void look(const std::uint64_t* words);

    std::uint64_t variant_;
    std::vector<std::uint64_t> memory_;
    std::size_t block_words_;
    std::size_t block_ = 0;    // first word of this round's block
    int walk_ = kFill;
    std::size_t slice_ = 0;    // slice of the walk
    std::uint64_t read_ = 0;   // the digest so far
};

}  // namespace measure::bits
