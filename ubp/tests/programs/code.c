// Code in unusual places. The first argument names the case, the second a library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "code.h"

typedef int (*function)(int);
static volatile long sink;

__attribute__((noinline)) void made(void *code, long size) {
    __asm__ volatile("" ::"r"(code), "r"(size) : "memory");
    sink = size;
}

__attribute__((noinline)) void done(void) { sink = 0; }

// Puts code somewhere.
static void put(unsigned char *to, const unsigned char *code, int size) {
    memcpy(to, code, size);
    __builtin___clear_cache((char *)to, (char *)to + size);
}

static void *map(int protection, int flags) {
    void *code = mmap(0, 4096, protection, flags | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) abort();
    return code;
}

// Writable and executable, changed by the program after the breakpoint stands elsewhere in the page.
static void jit_case(void) {
    unsigned char *code = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
    put(code, add5, sizeof add5);
    made(code, sizeof add5);
    int first = ((function)code)(1);
    put(code + 64, add9, sizeof add9);
    printf("jit %d %d %d\n", first, ((function)code)(2), ((function)(code + 64))(3));
    // The page goes, and another comes in its place.
    munmap(code, 4096);
    unsigned char *again = mmap(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (unsigned at = 0; at < 4096; at += sizeof nop) memcpy(again + at, nop, sizeof nop);
    put(again, add9, sizeof add9);
    done();
    printf("again %d", ((function)again)(4));
    for (int i = 0; i < 12; i++) printf(" %02x", again[i]);
    printf("\n");
}

static void shared_case(void) {
    int file = memfd_create("code", 0);
    if (ftruncate(file, 4096)) abort();
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
    put(code, add5, sizeof add5);
    made(code, sizeof add5);
    printf("shared %d\n", ((function)code)(1));
    done();
}

static void read_only_case(void) {
    unsigned char *code = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
    put(code, add5, sizeof add5);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    made(code, sizeof add5);
    printf("read only %d\n", ((function)code)(1));
    done();
}

// A page before which nothing is mapped, and where none that is larger begins.
static void alone_case(void) {
    unsigned long size = 256 << 10, large = 64 << 10;
    unsigned char *area = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *code = (unsigned char *)(((uintptr_t)area + large - 1) / large * large + large + 4096);
    munmap(area, size);
    if (mmap(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != code)
        abort();
    put(code, add5, sizeof add5);
    made(code, sizeof add5);
    printf("alone %d\n", ((function)code)(1));
    done();
}

// A page in the middle of so much reserved memory that nothing free is within reach of a branch.
static void far_case(void) {
    size_t half = (size_t)5 << 29;
    char *all = mmap(0, 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + half, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) abort();
    unsigned char *code = (unsigned char *)all + half;
    put(code, add5, sizeof add5);
    made(code, sizeof add5);
    printf("far %d\n", ((function)code)(1));
    done();
}

static void vdso_case(void) {
    struct timespec time;
    made((void *)getauxval(AT_SYSINFO_EHDR), 0);
    long right = 0;
    for (int i = 0; i < 100; i++) right += clock_gettime(CLOCK_MONOTONIC, &time) == 0;
    printf("vdso %ld\n", right);
    done();
}

// A hundred thousand instructions of five kinds, then a return.
static void many_case(void) {
    unsigned char *code = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long at = 0;
    for (int i = 0; i < 100000; i++) {
        memcpy(code + at, kinds[i % 5], lengths[i % 5]);
        at += lengths[i % 5];
    }
    put(code + at, ret, sizeof ret);
    __builtin___clear_cache((char *)code, (char *)code + at);
    mprotect(code, 1 << 20, PROT_READ | PROT_EXEC);
    made(code, at);
    printf("many %d\n", ((function)code)(3));
    done();
    printf("many %d\n", ((function)code)(3));
}

static void load_case(const char *path) {
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library) {
            printf("%s\n", dlerror());
            return;
        }
        function plugin = (function)dlsym(library, "plugin");
        printf("plugin %d\n", plugin(i));
        dlclose(library);
    }
}

// Loads a library, waits for the end of the standard input, and unloads, loads and unloads it again.
static void reload_case(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    printf("mapped\n");
    while (getchar() != EOF) {
    }
    dlclose(library);
    library = dlopen(path, RTLD_NOW);
    dlclose(library);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    setvbuf(stdout, 0, _IOLBF, 0);
    if (!strcmp(name, "jit")) jit_case();
    if (!strcmp(name, "shared")) shared_case();
    if (!strcmp(name, "read_only")) read_only_case();
    if (!strcmp(name, "alone")) alone_case();
    if (!strcmp(name, "far")) far_case();
    if (!strcmp(name, "vdso")) vdso_case();
    if (!strcmp(name, "many")) many_case();
    if (!strcmp(name, "load")) load_case(argv[2]);
    if (!strcmp(name, "reload")) reload_case(argv[2]);
    return 0;
}
