// A library whose random numbers are all the same, for programs that ask the C library for them by getrandom or syscall.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    memset(buffer, 42, length);
    return (ssize_t)length;
}

long syscall(long number, ...) {
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom) return getrandom((void *)words[0], (size_t)words[1], (unsigned)words[2]);
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
