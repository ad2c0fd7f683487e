#define EMT_NAMESPACE kernel_portable
#define EMT_KERNEL_NAME "portable"
#include "solver/kernel.inc"
