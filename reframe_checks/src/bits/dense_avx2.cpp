#define KERNEL kDenseAvx2
#define NAME "avx2"
#define BASIS "fused"
#define MULTIPLY_ADD(a, b, c) std::fma(a, b, c)
#include "bits/dense_kernel.inc"
