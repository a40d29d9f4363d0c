// Writes to `words`, as its first argument says; the second is a count.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__aarch64__)
#include "x86/untold.h"
#endif

volatile long words[8] __attribute__((aligned(64)));
volatile unsigned char bytes[32] __attribute__((aligned(32)));
char source[64] = "the quick brown fox jumps over the lazy dog", target[64] __attribute__((aligned(64)));

__attribute__((noinline)) void store(long n) { words[0] = n; }

__attribute__((noinline)) long load(void) { return words[0]; }

// Called, so that a return address lies on the stack.
__attribute__((noinline)) long leaf(long n) {
    __asm__ volatile("");
    return n + 1;
}

__attribute__((noinline)) long caller(long n) { return leaf(n) * 2; }

__attribute__((noinline)) void copy(long n) {
    for (long i = 0; i < n; i++) ((volatile char *)target)[i] = source[i];
}

static void *run(void *number) {
    store((long)number);
    return 0;
}

static void threads(long count) {
    for (long i = 1; i <= count; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, run, (void *)i);
        pthread_join(thread, 0);
    }
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        store(7);
        _exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    store(8);
}

// Answers each byte of its input by a write.
static void serve(void) {
    char byte;
    while (read(0, &byte, 1) == 1) {
        store(byte);
        if (write(1, "done\n", 5) != 5) exit(9);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "store";
    long count = argc > 2 ? atol(argv[2]) : 1, sum = 0;
    setvbuf(stdout, 0, _IONBF, 0);
    for (long i = 1; i <= count && !strcmp(what, "store"); i++) {
        store(i);
        sum += load();
    }
    for (long i = 1; i <= count && !strcmp(what, "call"); i++) sum += caller(i);
    for (long i = 0; i < (long)sizeof bytes && !strcmp(what, "bytes"); i++) bytes[i] = (unsigned char)(i + 1);
    if (!strcmp(what, "copy")) copy(count);
    if (!strcmp(what, "threads")) threads(count);
    if (!strcmp(what, "fork")) forks();
    if (!strcmp(what, "serve")) serve();
    if (!strcmp(what, "read")) sum = read(0, (void *)bytes, 4);
#if !defined(__aarch64__)
    for (long i = 1; i <= count && !strcmp(what, "untold"); i++) untold_trap();
#endif
    if (!strcmp(what, "exec")) {
        store(1);
        execl("/proc/self/exe", argv[0], "store", "2", (char *)0);
    }
    printf("%ld %ld %s\n", sum, words[0], target);
    return 5;
}
