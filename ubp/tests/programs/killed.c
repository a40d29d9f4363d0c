// Calls `work` in a hot loop in some threads until a byte comes, then says how many of its results were wrong. What the byte is says how
// the program ends: x: by itself; b: by a breakpoint instruction of its own; r: by a raised SIGTRAP; i: by int1. At u it goes on behind a
// debug exception without a cause. With the argument "own" it handles SIGTRAP itself, and says how often that was; with "fork" threads make processes that work as well.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__aarch64__)
#include "x86/untold.h"
#endif

#define THREADS 3

#if defined(__aarch64__)
#define TRAP "brk #0"
#else
#define TRAP "int3"
#endif

static volatile int over;
static volatile long wrong;
static volatile sig_atomic_t traps;
static int forks;
volatile long table[8] = {1, 2, 3, 4, 5, 6, 7, 8};

__attribute__((noinline)) long leaf(long n) {
    return n & 1 ? n * 3 + table[n & 7] : n - table[n & 7];
}

__attribute__((noinline)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < (n & 3) + 1; i++) {
        sum += leaf(n + i);
        if (sum & 8) sum ^= n;
    }
    return sum;
}

// The same, without a breakpoint.
static long leaf_alone(long n) {
    return n & 1 ? n * 3 + table[n & 7] : n - table[n & 7];
}

__attribute__((noinline)) static long alone(long n) {
    long sum = 0;
    for (long i = 0; i < (n & 3) + 1; i++) {
        sum += leaf_alone(n + i);
        if (sum & 8) sum ^= n;
    }
    return sum;
}

static void *loop(void *argument) {
    for (long n = 0; !over; n++) {
        if (work(n) != alone(n)) wrong++;
        if (forks && n % 64 == (long)argument) {
            pid_t child = fork();
            if (child == 0) {
                for (long m = 0; m < 16; m++)
                    if (work(m) != alone(m)) _exit(1 + m);
                _exit(0);
            }
            int status = -1;
            pid_t waited = waitpid(child, &status, 0);
            if (waited != child || status != 0) {
                fprintf(stderr, "waited for %d: %d %m, status %#x\n", child, waited, status);
                wrong++;
            }
        }
    }
    return 0;
}

static void on_trap(int signal) {
    (void)signal;
    traps++;
}

int main(int argc, char **argv) {
    forks = argc > 1 && !strcmp(argv[1], "fork");
    if (argc > 1 && !strcmp(argv[1], "own")) signal(SIGTRAP, on_trap);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, loop, (void *)i);
    printf("ready\n");
    fflush(stdout);
    char byte = 0;
    while (read(0, &byte, 1) == 1) {
        if (byte == 'b') __asm__ volatile(TRAP);
        if (byte == 'r') raise(SIGTRAP);
#if !defined(__aarch64__)
        if (byte == 'i') __asm__ volatile(".byte 0xf1");
        if (byte == 'u') untold_trap();
#endif
        if (byte == 'x') break;
    }
    over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("wrong %ld traps %d\n", wrong, (int)traps);
    return 0;
}
