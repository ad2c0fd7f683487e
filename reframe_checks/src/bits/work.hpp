// A piece of work that ends with the same bits on every core, in slices; and what is planted into it in tests.
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
    // What the bits depend on besides the variant: an instruction set, or nothing ("integers").
    [[nodiscard]] virtual std::string basis() const = 0;
    // Begins a round, always with the same data.
    virtual void begin() = 0;
    // Does a slice; false when the round is complete.
    virtual bool advance() = 0;
    // Of all that the round has computed with and computed.
    [[nodiscard]] virtual std::uint64_t digest() = 0;
};

// The digest of a round. `after_slice` is called after each slice but the last.
template <typename AfterSlice>
std::uint64_t round_of(Work& work, const AfterSlice& after_slice) {
    work.begin();
    while (work.advance()) {
        after_slice();
    }
    return work.digest();
}

}  // namespace measure::bits
