#include "bits/dense.hpp"

#include "bits/digest.hpp"

namespace measure::bits {

extern const DenseKernel kDensePortable;
#ifdef MEASURE_X86
extern const DenseKernel kDenseAvx2;
extern const DenseKernel kDenseAvx512;
#endif

namespace {

// From 52 bits: 1 <= x < 2.
double significand(std::uint64_t bits) { return std::bit_cast<double>((bits >> 12U) | 0x3ff0000000000000ULL); }

}  // namespace

const DenseKernel* find_dense_kernel(const std::string& name) {
    const bool best = name == "auto";
#ifdef MEASURE_X86
    const bool fuses = __builtin_cpu_supports("fma");
    if ((best || name == "avx512") && fuses && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return &kDenseAvx512;
    }
    if ((best || name == "avx2") && fuses && __builtin_cpu_supports("avx2")) {
        return &kDenseAvx2;
    }
#endif
    return best || name == "portable" ? &kDensePortable : nullptr;
}

Dense::Dense(const DenseKernel& kernel, std::uint64_t variant)
    : kernel_(kernel), variant_(variant), a_(kOrder * kOrder), b_(a_.size()), c_(a_.size()) {}

void Dense::begin() {
    // |a b| < 2^-10, so that kOrder products are below an eighth; c starts from 1.125 to 1.375.
    std::uint64_t seed = scrambled(variant_ + 1);
    const auto operand = [&seed] {
        const std::uint64_t bits = scrambled(++seed);
        return (bits & 1U) != 0 ? significand(bits) * 0x1p-6 : -significand(bits) * 0x1p-6;
    };
    for (std::size_t i = 0; i < c_.size(); ++i) {
        a_[i] = operand();
        b_[i] = operand();
        c_[i] = 0.875 + significand(scrambled(++seed)) / 4;
    }
    row_ = 0;
    pass_ = 0;
}

bool Dense::advance() {
    kernel_.rows(a_.data(), b_.data(), c_.data(), row_, pass_ % 2 == 0 ? 1.0 : -1.0);
    row_ += kRowsAtOnce;
    if (row_ == kOrder) {
        row_ = 0;
        ++pass_;
    }
    return pass_ < kPasses;
}

std::uint64_t Dense::digest() {
    Digest digest;
    for (const std::vector<double>* matrix : {&a_, &b_, &c_}) {
        digest.absorb(std::span<const double>(*matrix));
    }
    return digest.value();
}

}  // namespace measure::bits
