/* Flip one bit in one of EVERY reads from a socket into a buffer of 32 KiB or more, as if a network card or the bus had
 * damaged the data after TCP's checksum. Open MPI reads its large messages in this way. */
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
