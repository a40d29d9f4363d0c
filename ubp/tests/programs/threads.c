// Eight threads run the same code while a timer signals; prints what each computed. Arguments: rounds, the timer's period in microseconds or 0.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "threads.h"

static long rounds;
static atomic_long ticks;
static char source[64] = "the quick brown fox jumps over the lazy dog, again and again";

static void on_tick(int signal) {
    (void)signal;
    atomic_fetch_add(&ticks, 1);
}

__attribute__((noinline)) long leaf(long a, long b) { return a * 31 + (b ^ 7); }

__attribute__((noinline)) long hot(long seed) {
    char copy[64];
    long sum = seed;
    for (long i = 0; i < rounds; i++) {
        memcpy(copy, source, sizeof copy);
        __asm__ volatile("" ::: "memory");
        long n = 64;
        char *to = copy;
        const char *from = source;
        COPY(to, from, n);
        sum = leaf(sum, copy[i & 63]);
        if (i % 16 == 0) getppid();
    }
    return sum;
}

static void *run(void *argument) { return (void *)hot((long)argument); }

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 100;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    if (argc > 2 && atoi(argv[2])) {
        struct timeval period = {0, atoi(argv[2])};
        struct itimerval timer = {period, period};
        setitimer(ITIMER_REAL, &timer, 0);
    }
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (long i = 0; i < 8; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%ld %ld\n", i, (long)sum);
    }
    return 0;
}
