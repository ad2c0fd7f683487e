/* In bit_sweep, and nowhere else, one bit of the largest piece of its memory flips every PERIOD_MS milliseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *flip(void *nothing)
{
    unsigned seed = (unsigned)getpid();
    for (;; usleep(PERIOD_MS * 1000)) {
        unsigned long from, to, largest = 0, start = 0;
        char line[512], access[8], path[256];
        FILE *maps = fopen("/proc/self/maps", "r");
        while (maps && fgets(line, sizeof line, maps)) {
            const int fields = sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, access, path);
            if (fields == 3 && !strcmp(access, "rw-p") && to - from > largest) largest = to - from, start = from;
        }
        if (maps) fclose(maps);
        if (largest > 16ul << 20) {
            const unsigned long byte = (rand_r(&seed) * 2147483648ul + rand_r(&seed)) % largest;
            ((volatile unsigned char *)start)[byte] ^= 1u << rand_r(&seed) % 8;
        }
    }
    return nothing;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (!strcmp(program_invocation_short_name, "bit_sweep")) pthread_create(&thread, NULL, flip, NULL);
}
