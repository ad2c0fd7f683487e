// Step time averaged over blocks of steps. A disturbance of some blocks does not change the median over blocks.
//
// The median of single steps ignores rare work: in exchange mode `slack`, the waits and messages of a whole batch fall
// on one step. A block includes them all.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace emt {

class BlockTimes {
public:
    static constexpr std::uint64_t kSteps = 256;    // longer than any batch of waves, and about a millisecond
    static constexpr std::uint64_t kLeastBlocks = 8;
    static constexpr std::size_t kKept = 65536;     // the last blocks: a run may have no end

    /// A run too short for eight whole blocks has eight shorter blocks; with fewer than eight steps, one per step.
    explicit BlockTimes(std::uint64_t steps) : length_(std::clamp(steps / kLeastBlocks, std::uint64_t{1}, kSteps)) {}

    void add(std::uint64_t step_ticks) {
        sum_ += step_ticks;
        if (++filled_ < length_) return;
        if (ticks_.size() < kKept)
            ticks_.push_back(sum_);
        else
            ticks_[whole_ % kKept] = sum_;
        ++whole_;
        sum_ = filled_ = 0;
    }
    /// Returns the steps of a block; if the run ended in its first block, the steps of the run.
    [[nodiscard]] std::uint64_t length() const { return ended_early() ? filled_ : length_; }
    /// Returns the mean step time of each whole block, microseconds; ignores steps after the last whole block.
    [[nodiscard]] std::vector<double> step_us(double us_per_tick) const {
        const std::vector<std::uint64_t> ticks = ended_early() ? std::vector{sum_} : ticks_;
        std::vector<double> out;
        out.reserve(ticks.size());
        for (const std::uint64_t t : ticks) out.push_back(static_cast<double>(t) * us_per_tick / static_cast<double>(length()));
        return out;
    }

private:
    [[nodiscard]] bool ended_early() const { return whole_ == 0 && filled_ > 0; }
    std::uint64_t length_, filled_ = 0, sum_ = 0, whole_ = 0;
    std::vector<std::uint64_t> ticks_;  // of the last kKept whole blocks
};

/// Returns the median of at least one value; for an even number of values, the mean of the middle two.
[[nodiscard]] inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace emt
