#include "kernels.hpp"

#include <algorithm>
#include <cmath>

// The program is built on the login node: the widest vectors of the node that runs it are chosen there.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define EACH_VECTOR_WIDTH __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define EACH_VECTOR_WIDTH
#endif

namespace {

// Values that the compiler must not know, or it would compute the result itself.
volatile double unknown_half = 0.5;
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
    : a_(bytes / 3 / sizeof(double)), b_(a_.size(), 2.0), c_(a_.size(), 1.0), factor_(unknown_three) {}

void Triad::pass() { triad(a_.data(), b_.data(), c_.data(), factor_, a_.size()); }

double Triad::bytes_per_pass() const { return 3.0 * sizeof(double) * static_cast<double>(a_.size()); }

bool Triad::correct() const {
    return std::all_of(a_.begin(), a_.end(), [](double value) { return value == 5.0; });
}

MultiplyAdd::MultiplyAdd() : lanes_{}, factor_(unknown_half), addend_(unknown_half) {}

void MultiplyAdd::pass() {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes_[lane] = static_cast<double>(lane);
    }
    multiply_add_all(lanes_, factor_, addend_, kSteps);
}

double MultiplyAdd::flop_per_pass() { return 2.0 * kLanes * kSteps; }

bool MultiplyAdd::correct() const {
    return std::all_of(lanes_, lanes_ + kLanes, [](double value) { return std::abs(value - 1.0) < 1e-12; });
}
