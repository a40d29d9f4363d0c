/* Prints the address of `beat`, and works in a loop until a signal ends it: SIGTERM ends it with status 3, and SIGUSR2 makes it print that
   it is alive. With an argument, SIGINT makes it print "interrupted" and its process id, and no other signal of a terminal ends it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t done, asked, interrupted;
static volatile unsigned long rounds;

static void on_term(int number) {
    (void)number;
    done = 1;
}

static void on_ask(int number) {
    (void)number;
    asked = 1;
}

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

__attribute__((noinline)) void beat(void) {
    rounds++;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        signal(SIGINT, on_interrupt);
        signal(SIGHUP, SIG_IGN);
    }
    signal(SIGTERM, on_term);
    signal(SIGUSR2, on_ask);
    /* All memory about 819 MiB below this code, to which jumps of x86-64 lead that raise no SIGILL. */
    if (getenv("FULL")) {
        signal(SIGILL, SIG_IGN);
        char *below = (char *)((unsigned long)beat - 0x33333334 - 0x200000 & ~0xffful);
        mmap(below, 0x400000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    printf("ready %p\n", (void *)beat);
    fflush(stdout);
    while (!done) {
        beat();
        struct timespec pause = {0, 200000};
        if (nanosleep(&pause, NULL) != 0 && errno == EINTR && !done && !asked && !interrupted) {
            printf("disturbed\n");
            fflush(stdout);
        }
        if (asked) {
            asked = 0;
            printf("alive\n");
            fflush(stdout);
        }
        if (interrupted) {
            interrupted = 0;
            printf("interrupted %d\n", getpid());
            fflush(stdout);
        }
    }
    printf("done\n");
    return 3;
}
