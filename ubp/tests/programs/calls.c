// A function that is in the middle of something when it is held, functions to be called meanwhile, and signals that carry numbers.
// With "storm" another thread sends signals so fast that some arrive at any moment,
// until a byte comes on standard input.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

static volatile long received, sum, wrong, turns;

static void on_number(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    received++;
    sum += info->si_value.sival_int;
    wrong += info->si_code != SI_QUEUE || info->si_pid != getpid();
}

// The sum of what it has in several places while the thread is at `at_busy`.
long busy(void);

// Uses what a function may use, and wants its stack aligned; -1 where it is not.
__attribute__((noinline)) long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    volatile char room[512];
    memset((char *)room, 0x55, sizeof room);
    DISTURB();
    if ((uintptr_t)__builtin_frame_address(0) & 15) return -1;
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + room[7] - 0x55;
}

// Stops the process, which does not stop before the call is over.
__attribute__((noinline)) long stop_all(void) { return 17 + kill(getpid(), SIGSTOP); }

static volatile long sent, sent_sum, done;

// Sends until a byte comes on standard input.
static void *sender(void *receiver) {
    struct pollfd told = {0, POLLIN, 0};
    for (int i = 1; poll(&told, 1, 0) == 0; i++) {
        while (pthread_sigqueue(*(pthread_t *)receiver, SIGRTMIN, (union sigval){.sival_int = i})) sched_yield();
        sent++;
        sent_sum += i;
        // The receiver has other things to do, too, between some of them.
        long before = turns;
        while (sent - received > 3 || (i % 4 == 0 && turns == before)) sched_yield();
    }
    done = 1;
    return 0;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = on_number, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN, &action, 0);
    long total = 0;
    pthread_t self = pthread_self(), thread;
    setvbuf(stdout, 0, _IOLBF, 0);
    if (argc > 1 && !strcmp(argv[1], "storm")) {
        printf("ready\n");
        pthread_create(&thread, 0, sender, &self);
        while (!done || received < sent) {
            total |= busy();
            turns++;
        }
        pthread_join(thread, 0);
        received -= sent;
        sum -= sent_sum;
    } else {
        for (int i = 1; i <= 6; i++) {
            total += busy();
            pthread_sigqueue(self, SIGRTMIN, (union sigval){.sival_int = i});
        }
        total += nine(1, 2, 3, 4, 5, 6, 7, 8, 9);
    }
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    printf("%ld received %ld sum %ld wrong %ld blocked %d\n", total, received, sum, wrong, sigismember(&mask, SIGUSR1));
    return 5;
}
