/* Flips one bit of what a program reads from a socket into a buffer of 32 KiB or more, once in EVERY such reads: data that
 * was damaged behind the checksums of TCP, in a network card or on the bus. Open MPI reads its large messages so. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGE = 32 * 1024 };

ssize_t readv(int file, const struct iovec *parts, int count)
{
    static unsigned reads;
    const ssize_t got = syscall(SYS_readv, file, parts, count);
    ssize_t before = 0;
    for (int i = 0; i < count && before < got; before += (ssize_t)parts[i++].iov_len) {
        if (parts[i].iov_len < LARGE || ++reads % EVERY != 0) continue;
        const ssize_t here = got - before < (ssize_t)parts[i].iov_len ? got - before : (ssize_t)parts[i].iov_len;
        ((unsigned char *)parts[i].iov_base)[(reads * 7919u) % here] ^= 1u << reads / EVERY % 8;
    }
    return got;
}
