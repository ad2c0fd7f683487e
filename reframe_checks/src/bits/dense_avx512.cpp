#define KERNEL kDenseAvx512
#define NAME "avx512"
#define BASIS "fused"
#define MULTIPLY_ADD(a, b, c) std::fma(a, b, c)
#include "bits/dense_kernel.inc"
