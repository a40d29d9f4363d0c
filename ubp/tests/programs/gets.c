// Gets signals that it sends itself. Each handler appends the last digit of its signal; prints them, and the value of a queued signal.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile char seen[64];
static volatile int length, value = -1;

void handler(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen[length++] = (char)('0' + signal % 10);
    if (info->si_code == SI_QUEUE) value = info->si_value.sival_int;
}

__attribute__((noinline)) void ready(void) { __asm__ volatile(""); }

int main(void) {
    alarm(60);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    sigaction(SIGRTMIN + 3, &action, 0);
    ready();
    kill(getpid(), SIGUSR1);
    raise(SIGUSR2);
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    // Several at once: the kernel delivers the lowest first.
    sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 77});
    kill(getpid(), SIGUSR2);
    raise(SIGUSR1);
    sigprocmask(SIG_SETMASK, &before, 0);
    // Ignored by default.
    raise(SIGWINCH);
    printf("%s value %d\n", (char *)seen, value);
    return 6;
}
