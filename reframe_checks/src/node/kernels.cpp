#include "node/kernels.hpp"

#include <algorithm>

namespace measure::node {

// The program is built on the login node, so the running node chooses its widest vectors at run time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define EACH_VECTOR_WIDTH __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define EACH_VECTOR_WIDTH
#endif

namespace {

// In [4, 8) with b + 3c, so that a sum carries an error on and never rounds it away.
constexpr double kB = 0x1.23456789abcdp+2, kC = 0x1.8765p-1, kSum = kB + 3 * kC;
// 30 and 22 bits: factor x and addend are exact, with and without fusing. factor x is below 4 and factor above 2, so an
// error of the last bit becomes at least two such errors in one step.
constexpr double kFixed = 0x1.2a5f3a94p+0, kFactor = 0x1.4d7a6p+1, kAddend = kFixed - kFactor * kFixed;
static_assert(kFactor * kFixed + kAddend == kFixed && kFactor * kFixed < 4 && kSum - 3 * kC == kB && kSum < 8);

// Values that the compiler must not know, or it would compute the result itself.
volatile double unknown_factor = kFactor;
volatile double unknown_addend = kAddend;
volatile double unknown_three = 3.0;

EACH_VECTOR_WIDTH void triad(double* __restrict a, const double* __restrict b, const double* __restrict c,
                             double factor, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) {
        a[i] = b[i] + factor * c[i];
    }
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void multiply_add(double* values, double factor, double addend, int steps) {
    double sums[lanes];
    std::copy(values, values + lanes, sums);
    for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 64
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] = sums[lane] * factor + addend;
        }
    }
    std::copy(sums, sums + lanes, values);
}

EACH_VECTOR_WIDTH void multiply_add_all(double* values, double factor, double addend, int steps) {
    multiply_add<64>(values, factor, addend, steps);
}

}  // namespace

Triad::Triad(std::size_t bytes)
    : a_(bytes / 3 / sizeof(double), kSum), b_(a_.size(), kB), c_(a_.size(), kC), factor_(unknown_three) {}

void Triad::pass() {
    if (back_) {
        triad(b_.data(), a_.data(), c_.data(), -factor_, a_.size());
    } else {
        triad(a_.data(), b_.data(), c_.data(), factor_, a_.size());
    }
    back_ = !back_;
}

double Triad::bytes_per_pass() const { return 3.0 * sizeof(double) * static_cast<double>(a_.size()); }

bool Triad::correct() const {
    const auto all = [](const std::vector<double>& values, double right) {
        return std::all_of(values.begin(), values.end(), [right](double value) { return value == right; });
    };
    return all(a_, kSum) && all(b_, kB) && all(c_, kC) && factor_ == 3;
}

MultiplyAdd::MultiplyAdd() : lanes_{}, factor_(unknown_factor), addend_(unknown_addend) {
    std::fill(lanes_, lanes_ + kLanes, kFixed);
}

void MultiplyAdd::pass() { multiply_add_all(lanes_, factor_, addend_, kSteps); }

double MultiplyAdd::flop_per_pass() { return 2.0 * kLanes * kSteps; }

bool MultiplyAdd::correct() const {
    return std::all_of(lanes_, lanes_ + kLanes, [](double value) { return value == kFixed; });
}

}  // namespace measure::node
