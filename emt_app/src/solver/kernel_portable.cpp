#define EMT_KERNEL kernel_portable
#define EMT_KERNEL_NAME "portable"
#include "solver/kernel.inc"
