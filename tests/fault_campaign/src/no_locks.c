/* Simulate a mount without locks (`nolock`) for every program that preloads this library: flock and fcntl report locks
 * that exclude nobody. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int file, int how)
{
    return 0 * (file + how);
}

int fcntl64(int file, int what, ...)
{
    va_list values;
    va_start(values, what);
    void *value = va_arg(values, void *);
    va_end(values);
    if (what == F_SETLK || what == F_SETLKW) return 0;
    return (int)syscall(SYS_fcntl, file, what, value);
}

int fcntl(int file, int what, ...)
{
    va_list values;
    va_start(values, what);
    void *value = va_arg(values, void *);
    va_end(values);
    return fcntl64(file, what, value);
}
