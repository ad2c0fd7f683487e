// Kernels for one core: STREAM's triad, and fused multiply-adds at full rate. Both keep their result from pass to pass
// without loss by rounding, so that the end shows an error of any pass.
#pragma once

#include <cstddef>
#include <vector>

namespace measure::node {

class Triad {
  public:
    // Allocates three arrays of together `bytes`; the calling thread owns their pages (first touch).
    explicit Triad(std::size_t bytes);

    // Computes a <- b + factor c and b <- a - factor c in turn: exact, and a and b have the same exponent.
    void pass();
    // Returns the bytes of a pass by STREAM's count: without the read for ownership (McCalpin 1995).
    [[nodiscard]] double bytes_per_pass() const;
    // Checks every bit of all arrays.
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
    // Every lane is at the fixed point x = factor x + addend, which repels: the smallest error grows to infinity.
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
