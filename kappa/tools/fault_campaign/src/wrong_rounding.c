/* Every program that is started with this library preloaded rounds towards zero, as a defective unit would: sums and products
 * are off by one in the last bit, every second time. Threads take it over from the one that starts them. */
#include <fenv.h>

__attribute__((constructor)) static void round_wrongly(void) { fesetround(FE_TOWARDZERO); }
