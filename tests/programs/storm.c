// Eight threads that check what they compute, in a storm of signals, forks and execs. Prints what does not depend on their order.
// Arguments: rounds; or `child`, for what is executed. With a third argument it says `done` and waits for its input's end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Signals come again and again, but only so often a round: where each takes long, work must end too.
enum { THREADS = 8, CHILD = 41, TICKS = 100, ALARMS = 500 };

static const char *self;
static long rounds;
static atomic_long ticks, alarms, wrong;
static atomic_int finished;
static pthread_barrier_t gate;
static __thread timer_t timer;
static __thread long own_ticks;

#define CHECK(what) do { if (!(what)) { atomic_fetch_add(&wrong, 1); dprintf(2, "line %d: %s\n", __LINE__, #what); } } while (0)

// Arithmetic whose result says whether each of its instructions was executed once.
__attribute__((noinline)) uint64_t mix(uint64_t a, uint64_t b) {
    a ^= b * 0x9e3779b97f4a7c15u;
    a = a << 13 | a >> 51;
    return a + (a / (b | 1)) + (b & 1 ? 17 : a % 5);
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

// Work with the library in it: text, sorting, copies, the heap.
__attribute__((noinline)) uint64_t work(uint64_t seed) {
    uint64_t values[12], sum = seed;
    char text[64];
    for (int i = 0; i < 12; i++) values[i] = sum = mix(sum, (uint64_t)i);
    qsort(values, 12, sizeof *values, compare);
    for (int i = 1; i < 12; i++) CHECK(values[i - 1] <= values[i]);
    snprintf(text, sizeof text, "%llu %g", (unsigned long long)sum, (double)(seed & 0xff) / 4);
    CHECK(strtoull(text, 0, 10) == sum);
    char *copy = malloc(sizeof text);
    memcpy(copy, text, sizeof text);
    CHECK(!strcmp(copy, text));
    free(copy);
    return sum + strlen(text);
}

static void again(void) {
    struct itimerval once = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &once, 0);
}

static void tick_again(void) {
    struct itimerspec once = {{0, 0}, {0, 1000000}};
    timer_settime(timer, 0, &once, 0);
}

// The process' timer, to whichever thread, 1 ms after the last.
static void on_alarm(int signal) {
    (void)signal;
    long before = atomic_fetch_add(&alarms, 1);
    if (!atomic_load(&finished) && before < rounds * ALARMS) again();
}

// The thread's own timer, 1 ms of its processor time after the last: computes too.
static void on_tick(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    int saved = errno;
    atomic_fetch_add(&ticks, 1);
    CHECK(mix(mix(1, 2), 3) == (uint64_t)(uintptr_t)info->si_value.sival_ptr);
    if (++own_ticks < rounds * TICKS) tick_again();
    errno = saved;
}

// A child of fork computes too, and one of posix_spawn executes this program anew.
static void make_children(uint64_t seed) {
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) _exit((int)(mix(seed, 3) % 100));
    int status;
    while (waitpid(child, &status, 0) < 0) if (errno != EINTR) abort();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (int)(mix(seed, 3) % 100));
    char *arguments[] = {(char *)self, "child", 0}, *environment[] = {0};
    if (posix_spawn(&child, self, 0, 0, arguments, environment)) abort();
    while (waitpid(child, &status, 0) < 0) if (errno != EINTR) abort();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHILD);
}

static void *run(void *argument) {
    uint64_t sum = (uintptr_t)argument;
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event.sigev_value.sival_ptr = (void *)(uintptr_t)mix(mix(1, 2), 3);
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) abort();
    pthread_barrier_wait(&gate);
    tick_again();
    for (long i = 0; i < rounds; i++) {
        sum = work(sum);
        if (i % 8 == 0) {
            struct timespec moment = {0, 1000};
            while (nanosleep(&moment, &moment)) CHECK(errno == EINTR);
        }
        if (i < 48 && i % 16 == (long)(uintptr_t)argument) make_children(sum);
    }
    timer_delete(timer);
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) return work(1) == work(1) ? CHILD : 1;
    self = argv[0];
    rounds = argc > 1 ? atol(argv[1]) : 16;
    struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct sigaction tick = {.sa_sigaction = on_tick, .sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGALRM, &alarm, 0);
    sigaction(SIGUSR1, &tick, 0);
    pthread_barrier_init(&gate, 0, THREADS);
    again();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%d %llx\n", i, (unsigned long long)(uintptr_t)sum);
    }
    atomic_store(&finished, 1);
    printf("wrong %ld, signals %s\n", (long)wrong, alarms + ticks > 0 ? "came" : "never came");
    if (argc > 2) {
        printf("done\n");
        fflush(stdout);
        while (getchar() != EOF) {}
        printf("gone on\n");
    }
    return 0;
}
