// A piece of work in slices that ends with the same bits on every core.
#pragma once

#include <cstdint>
#include <string>

namespace measure::bits {

class Work {
  public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    virtual ~Work() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    // Returns the influence on the bits besides the variant: an instruction set, or none ("integers").
    [[nodiscard]] virtual std::string basis() const = 0;
    // Begins a round, always with the same data.
    virtual void begin() = 0;
    // Does a slice; false when the round is complete.
    virtual bool advance() = 0;
    // Returns the digest of all operands and results of the round.
    [[nodiscard]] virtual std::uint64_t digest() = 0;
};

// Runs a round and returns its digest. Calls `after_slice` after each slice except the last.
template <typename AfterSlice>
std::uint64_t round_of(Work& work, const AfterSlice& after_slice) {
    work.begin();
    while (work.advance()) {
        after_slice();
    }
    return work.digest();
}

}  // namespace measure::bits
