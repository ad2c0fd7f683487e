// Dense linear algebra: C <- C + A B and C <- C - A B in turn, in blocks that stay in registers.
//
// The elements of C stay between 1 and 2 by construction: sums carry an error on unchanged and never round it away. A
// and B are part of the digest, so the digest shows an error in an operand even if no product does.
#pragma once

#include <vector>

#include "bits/work.hpp"

namespace measure::bits {

constexpr std::size_t kOrder = 128;
constexpr std::size_t kRowsAtOnce = 4;

struct DenseKernel {
    const char* name;   // name in the option
    const char* basis;  // fused or not: the only influence on the bits, as each sum has one order
    // Adds sign (A B) to kRowsAtOnce rows of C, from `row` on.
    void (*rows)(const double* a, const double* b, double* c, std::size_t row, double sign);
};

// Returns the best kernel for this processor, or the kernel `name`; null if there is none.
const DenseKernel* find_dense_kernel(const std::string& name);

class Dense : public Work {
  public:
    Dense(const DenseKernel& kernel, std::uint64_t variant);

    [[nodiscard]] std::string name() const override { return "dense"; }
    [[nodiscard]] std::string basis() const override { return kernel_.basis; }
    void begin() override;
    bool advance() override;
    [[nodiscard]] std::uint64_t digest() override;

  private:
    friend struct Planted;  // for tests
    static constexpr int kPasses = 32;

    const DenseKernel& kernel_;
    std::uint64_t variant_;
    std::vector<double> a_, b_, c_;
    std::size_t row_ = 0;
    int pass_ = 0;
};

}  // namespace measure::bits
