/* Eight threads at the same sites, signals by timer and by tgkill, forks, and an output that does not depend on their order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 50, ALARMS = 500 };

static atomic_int handled, alarms;
static pthread_barrier_t gate;

// An alarm 2 ms after the last one. Their number is limited, so that work ends even if each takes long.
static void alarm_again(void) {
    struct itimerval once = {{0, 0}, {0, 2000}};
    if (atomic_fetch_add(&alarms, 1) < ALARMS)
        setitimer(ITIMER_REAL, &once, NULL);
}

static void on_signal(int number) {
    atomic_fetch_add(&handled, 1);
    if (number == SIGALRM)
        alarm_again();
}

__attribute__((noinline)) unsigned step(unsigned value) {
    return value * 1103515245u + 12345u;
}

static void *run(void *argument) {
    unsigned value = (unsigned)(size_t)argument;
    pthread_barrier_wait(&gate);
    for (int i = 0; i < ROUNDS; i++) {
        value = step(value);
        if (i % 10 == 0)
            raise(SIGUSR1);
        char text[32];
        snprintf(text, sizeof text, "%u", value);
        value += (unsigned)strlen(text);
    }
    return (void *)(size_t)value;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    alarm_again();
    pthread_barrier_init(&gate, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++) {
        void *value;
        pthread_join(threads[i], &value);
        printf("thread %d: %u\n", i, (unsigned)(size_t)value);
    }
    atomic_store(&alarms, ALARMS);
    printf("signals %s\n", atomic_load(&handled) >= THREADS * ROUNDS / 10 ? "came" : "were lost");
    fflush(stdout);
    int total = 0;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit((int)(step((unsigned)i) & 63));
        int status;
        waitpid(child, &status, 0);
        total += WEXITSTATUS(status);
    }
    printf("children %d\n", total);
    return 42;
}
