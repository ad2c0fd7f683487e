/* Flip one bit of the memory of `kappa-measure bits` every PERIOD_MS milliseconds, in no other program. Only pieces of
 * 16 MiB or more from operator new are changed, which are the memory under test: a flip in memory of MPI or a thread would
 * end the program. No piece is freed while a bit of it flips. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PIECES = 1024 };
static const size_t LARGE = (size_t)16 << 20;

static struct { unsigned char *begin; size_t size; } pieces[MOST_PIECES];
static int count;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void remember(void *begin, size_t size)
{
    pthread_mutex_lock(&turn);
    if (count < MOST_PIECES) pieces[count].begin = begin, pieces[count++].size = size;
    pthread_mutex_unlock(&turn);
}

static void forget(const void *begin)
{
    pthread_mutex_lock(&turn);
    for (int i = 0; i < count; ++i) {
        if (pieces[i].begin == begin) pieces[i] = pieces[--count];
    }
    pthread_mutex_unlock(&turn);
}

/* operator new(unsigned long) and operator delete(void *, unsigned long), which std::vector uses. */
void *_Znwm(size_t size)
{
    void *const got = malloc(size ? size : 1);
    if (!got) abort();
    if (size >= LARGE) remember(got, size);
    return got;
}

void _ZdlPvm(void *given, size_t size)
{
    if (size >= LARGE) forget(given);
    free(given);
}

static void *flip(void *nothing)
{
    unsigned seed = (unsigned)getpid();
    for (;; usleep(PERIOD_MS * 1000)) {
        pthread_mutex_lock(&turn);
        if (count) {
            const int piece = rand_r(&seed) % count;
            const size_t byte = ((size_t)rand_r(&seed) << 31 | (size_t)rand_r(&seed)) % pieces[piece].size;
            ((volatile unsigned char *)pieces[piece].begin)[byte] ^= 1u << rand_r(&seed) % 8;
        }
        pthread_mutex_unlock(&turn);
    }
    return nothing;
}

__attribute__((constructor)) static void begin(int count_of_words, char **words, char **environment)
{
    pthread_t thread;
    (void)environment;
    if (!strcmp(program_invocation_short_name, "kappa-measure") && count_of_words > 1 && !strcmp(words[1], "bits"))
        pthread_create(&thread, NULL, flip, NULL);
}
