// A library for programs that read their own memory map, in which the storage of breakpoints is a line more: there is none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    if (strcmp(path, "/proc/self/maps") == 0) {
        errno = ENOENT;
        return -1;
    }
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return next(path, flags, mode);
}
