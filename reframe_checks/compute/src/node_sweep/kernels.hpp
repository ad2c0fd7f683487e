// What is measured on one core: STREAM's triad, and as many fused multiply-adds as it can do.
#pragma once

#include <cstddef>
#include <vector>

class Triad {
  public:
    // Three arrays that together take `bytes`; the thread that makes them owns their pages (first touch).
    explicit Triad(std::size_t bytes);

    void pass();
    // Bytes that a pass reads and writes, as STREAM counts them: without the read for ownership (McCalpin 1995).
    [[nodiscard]] double bytes_per_pass() const;
    [[nodiscard]] bool correct() const;

  private:
    std::vector<double> a_, b_, c_;
    double factor_;
};

class MultiplyAdd {
  public:
    MultiplyAdd();

    void pass();
    [[nodiscard]] static double flop_per_pass();
    // The sums converge to a fixed point, whatever they start from.
    [[nodiscard]] bool correct() const;

  private:
    static constexpr std::size_t kLanes = 64;
    static constexpr int kSteps = 20'000;

    double lanes_[kLanes];
    double factor_;
    double addend_;
};
