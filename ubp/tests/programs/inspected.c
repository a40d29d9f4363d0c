// Does what its first argument says, for tests that look at threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile int go_on = 1;
volatile long counter;

static void ignore(int signal) { (void)signal; }

static void on_fault(int signal) {
    (void)signal;
    _exit(6);
}

// Gets a signal of each kind of origin, and at last a fault at address 0x1230.
static void signals(void) {
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGCHLD, &action, 0);
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 77});
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, &before);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = 78};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec soon = {{0, 0}, {0, 1}};
    timer_settime(timer, 0, &soon, 0);
    sigsuspend(&before);
    if (fork() == 0) _exit(9);
    while (wait(0) < 0) {}
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, 0);
    *(volatile int *)0x1230 = 1;
}

// Each thread makes the next one, as fast as it can.
static void *storm(void *argument) {
    pthread_t next;
    counter++;
    if (go_on) {
        if (pthread_create(&next, 0, storm, 0)) abort();
        pthread_detach(next);
    }
    return argument;
}

static void *nap(void *argument) {
    struct timespec day = {86400, 0};
    pthread_setname_np(pthread_self(), "a napper");
    counter++;
    nanosleep(&day, 0);
    return argument;
}

static void *spin(void *argument) {
    pthread_setname_np(pthread_self(), "a (spinner) ");
    while (go_on) counter++;
    exit(4);
    return argument;
}

static void start(void *(*run)(void *)) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
}

// Waits in vfork for a child that waits for the end of its input.
static void wait_in_vfork(void) {
    if (vfork() == 0) {
        char byte;
        if (write(1, "child\n", 6) != 6) _exit(1);
        while (read(0, &byte, 1) > 0) {}
        _exit(0);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, 0, _IONBF, 0);
    // A test that fails leaves no program behind.
    alarm(60);
    if (!strcmp(what, "signals")) signals();
    if (!strcmp(what, "vfork")) wait_in_vfork();
    if (!strcmp(what, "storm")) {
        for (int i = 0; i < 4; i++) start(storm);
        while (go_on) usleep(1000);
    }
    if (!strcmp(what, "nap")) {
        start(nap);
        start(spin);
        for (;;) pause();
    }
    if (!strcmp(what, "leaderless")) {
        start(spin);
        pthread_exit(0);
    }
    return 4;
}
