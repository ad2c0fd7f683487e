/* Make every program that preloads this library round towards zero, as a defective unit would: every second sum or product
 * is off by one in the last bit. Threads inherit the mode from the thread that starts them. */
#include <fenv.h>

__attribute__((constructor)) static void round_wrongly(void) { fesetround(FE_TOWARDZERO); }
