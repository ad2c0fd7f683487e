#define KERNEL kDensePortable
#define NAME "portable"
#define BASIS "not fused"
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#include "bits/dense_kernel.inc"
