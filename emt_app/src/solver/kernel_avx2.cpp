#define EMT_KERNEL kernel_avx2
#define EMT_KERNEL_NAME "avx2"
#include "solver/kernel.inc"
