// What is measured on one core: STREAM's triad, and as many fused multiply-adds as it can do. Both hold their result from
// pass to pass, and nothing in it is ever lost by rounding: an error in any pass is there at the end.
#pragma once

#include <cstddef>
#include <vector>

namespace measure::node {

class Triad {
  public:
    // Three arrays that together take `bytes`; the thread that makes them owns their pages (first touch).
    explicit Triad(std::size_t bytes);

    // a <- b + factor c and b <- a - factor c in turn: exact, and a and b have the same exponent.
    void pass();
    // Bytes that a pass reads and writes, as STREAM counts them: without the read for ownership (McCalpin 1995).
    [[nodiscard]] double bytes_per_pass() const;
    // Of every bit of all arrays.
    [[nodiscard]] bool correct() const;

  private:
    friend struct Planted;  // of the tests
    std::vector<double> a_, b_, c_;
    double factor_;
    bool back_ = false;
};

class MultiplyAdd {
  public:
    MultiplyAdd();

    void pass();
    [[nodiscard]] static double flop_per_pass();
    // Every lane stands on x = factor x + addend, a fixed point that repels: the smallest error grows until it is infinite.
    [[nodiscard]] bool correct() const;

  private:
    friend struct Planted;  // of the tests
    static constexpr std::size_t kLanes = 64;
    static constexpr int kSteps = 20'000;

    double lanes_[kLanes];
    double factor_;
    double addend_;
};

}  // namespace measure::node
