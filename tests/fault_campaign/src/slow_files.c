/* Simulate a failing disk for every program that preloads this library: fsync takes FSYNC_US longer, open and stat on
 * /scratch take OPEN_US longer, and one of EVERY reads of a file there fails (0: no read fails). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char folder[] = "/scratch/";

static void wait_us(long microseconds)
{
    const struct timespec pause = {microseconds / 1000000, microseconds % 1000000 * 1000};
    if (microseconds > 0) syscall(SYS_nanosleep, &pause, (void *)0);
}

static void wait_for(const char *path)
{
    if (path && strncmp(path, folder, sizeof folder - 1) == 0) wait_us(OPEN_US);
}

int fsync(int file)
{
    wait_us(FSYNC_US);
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    wait_us(FSYNC_US);
    return (int)syscall(SYS_fdatasync, file);
}

int openat(int place, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    wait_for(path);
    return (int)syscall(SYS_openat, place, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char *, int, ...) __attribute__((alias("open")));
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));

int fstatat(int place, const char *restrict path, struct stat *restrict found, int flags)
{
    wait_for(path);
    return (int)syscall(SYS_newfstatat, place, path, found, flags);
}

int stat(const char *restrict path, struct stat *restrict found) { return fstatat(AT_FDCWD, path, found, 0); }

int fstatat64(int, const char *restrict, struct stat64 *restrict, int) __attribute__((alias("fstatat")));
int stat64(const char *restrict, struct stat64 *restrict) __attribute__((alias("stat")));

#if EVERY
static int fails(int file)
{
    static atomic_ulong count;
    char name[32], path[sizeof folder];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    const long length = syscall(SYS_readlinkat, AT_FDCWD, name, path, sizeof path);
    if (length < (long)sizeof folder - 1 || strncmp(path, folder, sizeof folder - 1) != 0) return 0;
    return (atomic_fetch_add(&count, 1) + 1) % EVERY == 0;
}

ssize_t read(int file, void *bytes, size_t size)
{
    if (fails(file)) return errno = EIO, -1;
    return syscall(SYS_read, file, bytes, size);
}

ssize_t pread(int file, void *bytes, size_t size, off_t from)
{
    if (fails(file)) return errno = EIO, -1;
    return syscall(SYS_pread64, file, bytes, size, from);
}

ssize_t pread64(int, void *, size_t, off_t) __attribute__((alias("pread")));
#endif
