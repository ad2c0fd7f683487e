// Step times in a logarithmic histogram: 64 bins per octave of ticks, with quantiles interpolated inside their bin.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace emt {

class Histogram {
public:
    static constexpr unsigned kSub = 6;  // log2 of the bins per octave
    static constexpr std::size_t kBins = (64 - kSub + 1) << kSub;

    void add(std::uint64_t ticks) {
        ++bins_[bin(ticks)];
        sum_ += ticks;
        max_ = std::max(max_, ticks);
        ++count_;
    }
    [[nodiscard]] std::array<std::uint64_t, kBins>& bins() { return bins_; }
    [[nodiscard]] const std::array<std::uint64_t, kBins>& bins() const { return bins_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t max() const { return max_; }
    [[nodiscard]] double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

    static std::size_t bin(std::uint64_t x) {
        if (x < (1ULL << kSub)) return static_cast<std::size_t>(x);
        const auto octave = static_cast<unsigned>(std::bit_width(x)) - 1 - kSub;
        return ((octave + 1ULL) << kSub) + ((x >> octave) & ((1ULL << kSub) - 1));
    }
    /// Returns the lower bound of a bin, ticks.
    static double low(std::size_t bin) {
        const std::size_t octave = bin >> kSub, part = bin & ((1ULL << kSub) - 1);
        if (octave == 0) return static_cast<double>(part);
        return std::ldexp(static_cast<double>((1ULL << kSub) + part), static_cast<int>(octave) - 1);
    }
    /// Returns the quantile of merged bins, ticks: interpolated inside its bin, so within 1.6 %, usually far closer.
    static double quantile(const std::array<std::uint64_t, kBins>& bins, double q) {
        std::uint64_t total = 0;
        for (const std::uint64_t b : bins) total += b;
        double below = 0;
        for (std::size_t i = 0; i < kBins; ++i) {
            const double here = static_cast<double>(bins[i]), wanted = q * static_cast<double>(total) - below;
            if (here > 0 && here >= wanted) return low(i) + std::max(wanted, 0.0) / here * (low(i + 1) - low(i));
            below += here;
        }
        return 0;
    }

    /// Returns the bins for all values times `factor`, for ticks of another clock; assumes an even spread in a bin.
    static std::array<std::uint64_t, kBins> rescaled(const std::array<std::uint64_t, kBins>& bins, double factor) {
        std::array<std::uint64_t, kBins> out{};
        std::uint64_t total = 0, moved = 0;
        for (const std::uint64_t b : bins) total += b;
        double below = 0;  // values in the bins before i
        std::size_t i = 0;
        for (std::size_t j = 0; j < kBins; ++j) {
            const double edge = low(j + 1) / factor;
            for (; i < kBins && low(i + 1) <= edge; ++i) below += static_cast<double>(bins[i]);
            const double part = i < kBins ? std::max(0.0, (edge - low(i)) / (low(i + 1) - low(i))) * static_cast<double>(bins[i]) : 0;
            // Rounds the number of values below an edge, not between two edges: so no value is lost.
            const auto until = j + 1 < kBins ? static_cast<std::uint64_t>(std::llround(below + part)) : total;
            out[j] = until - moved;
            moved = until;
        }
        return out;
    }

private:
    std::array<std::uint64_t, kBins> bins_{};
    std::uint64_t sum_ = 0, max_ = 0, count_ = 0;
};

}  // namespace emt
