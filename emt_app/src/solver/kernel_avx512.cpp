#define EMT_KERNEL kernel_avx512
#define EMT_KERNEL_NAME "avx512"
#include "solver/kernel.inc"
