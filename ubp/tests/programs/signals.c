// What signal handlers see. The first argument names the case; prints only what does not depend on addresses.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int caught;
static volatile uintptr_t seen_pc, seen_address, fixed;
static volatile int seen_code;
static volatile int alarms, jumps, wrong;

// Where a handler's context keeps the pc.
static uintptr_t *pc_of(void *context);
#define PC(context) (*pc_of(context))

static void note(int signal, siginfo_t *info, void *context) {
    (void)signal;
    caught++;
    seen_pc = PC(context);
    seen_address = (uintptr_t)info->si_addr;
    seen_code = info->si_code;
}

static void on_map(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void catch(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    if (sigaction(signal, &action, 0)) abort();
}

static char alternate[1 << 16];

__attribute__((noinline)) static int deep(int n) {
    volatile char room[3000];
    room[0] = (char)n;
    return n == 0 ? room[0] : deep(n - 1) + (room[0] != 0);
}

// The stack has to grow by pushes and calls that are emulated.
__attribute__((noinline)) static void grow_case(void) { printf("grow %d\n", deep(2000)); }

#include "signals.h"

static volatile int usr1, usr2;
static void on_usr2(int signal) { (void)signal; usr2++; }
static void on_usr1(int signal) {
    (void)signal;
    usr1++;
    if (usr1 % 3 == 1) raise(SIGUSR2);
    if (usr1 % 5 == 1) raise(SIGUSR1);
}

__attribute__((noinline)) static void nested_case(void) {
    stack_t other = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&other, 0);
    struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGUSR1, &action, 0);
    struct sigaction second = {.sa_handler = on_usr2};
    sigaction(SIGUSR2, &second, 0);
    for (int i = 0; i < 50; i++) kill(getpid(), SIGUSR1);
    sigset_t both, old;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    sigprocmask(SIG_BLOCK, &both, &old);
    raise(SIGUSR1);
    raise(SIGUSR2);
    sigprocmask(SIG_SETMASK, &old, 0);
    printf("nested %d %d\n", usr1, usr2);
}

static void on_alarm(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    wrong += is_wrong_after_read(context);
    alarms++;
}

// Waits until the first thread sleeps in a system call: 'S', and not a tracer's 't'.
static void wait_until_blocked(void) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    for (;; sched_yield()) {
        int file = open(path, O_RDONLY);
        ssize_t length = read(file, line, sizeof line - 1);
        close(file);
        line[length > 0 ? length : 0] = 0;
        char *end = strrchr(line, ')');
        if (end && end[2] == 'S') return;
    }
}

static void wait_for_change(volatile int *count, int before) {
    while (*count == before) sched_yield();
}

// Interrupts the first thread three times where it blocks, then writes to the descriptor, if there is one.
static void *later(void *argument) {
    for (int i = 0; i < 3; i++) {
        int before = alarms;
        wait_until_blocked();
        syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
        wait_for_change(&alarms, before);
    }
    wait_until_blocked();
    if (argument && write(*(int *)argument, "x", 1) != 1) abort();
    return 0;
}

// Reads that signals interrupt: with SA_RESTART they go on, without they fail with EINTR.
__attribute__((noinline)) static void restart_case(void) {
    int ends[2];
    char byte = 0;
    pthread_t thread;
    if (pipe(ends)) abort();
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, later, &ends[1]);
    long result = blocked_read(ends[0], &byte);
    pthread_join(thread, 0);
    printf("restart %ld %c alarms %d wrong %d\n", result, byte, alarms, wrong);
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, later, 0);
    result = blocked_read(ends[0], &byte);
    struct pollfd wanted = {ends[0], POLLIN, 0};
    int polled = poll(&wanted, 1, 1000000), poll_error = errno;
    struct timespec time = {1000, 0}, left;
    int slept = nanosleep(&time, &left), sleep_error = errno;
    pthread_join(thread, 0);
    printf("interrupt %d poll %d %d sleep %d %d left %d alarms %d\n", result == -EINTR, polled, poll_error == EINTR, slept,
           sleep_error == EINTR, left.tv_sec >= 500, alarms);
}

// Signals that are ignored must not end an epoll_wait. None of them can go to the thread that sends them.
static void *ignored_later(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    int *ends = argument;
    for (int i = 0; i < 5; i++) {
        wait_until_blocked();
        kill(getpid(), SIGWINCH);
        wait_until_blocked();
        kill(getpid(), SIGUSR2);
    }
    // The first thread's child ends: SIGCHLD.
    wait_until_blocked();
    close(ends[1]);
    siginfo_t info;
    waitid(P_PID, (id_t)ends[2], &info, WEXITED | WNOWAIT);
    wait_until_blocked();
    if (write(ends[4], "x", 1) != 1) abort();
    return 0;
}

__attribute__((noinline)) static void ignored_case(void) {
    // To the child, its number, from the thread that signals.
    int ends[5], status;
    char byte;
    pthread_t thread;
    signal(SIGUSR2, SIG_IGN);
    if (pipe(ends) || pipe(ends + 3)) abort();
    ends[2] = fork();
    if (ends[2] == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 7 : 8);
    }
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, ends[3], &event);
    pthread_create(&thread, 0, ignored_later, ends);
    int result = epoll_wait(set, &event, 1, -1);
    int error = errno;
    pthread_join(thread, 0);
    waitpid(ends[2], &status, 0);
    printf("ignored %d %d child %d\n", result, result < 0 ? error : 0, WEXITSTATUS(status));
}

// Handlers that are left by longjmp while a read blocks.
static sigjmp_buf back;
static void on_jump(int signal) { (void)signal; siglongjmp(back, 1); }

enum { JUMPS = 20 };

static void *jump_later(void *argument) {
    for (int i = 0; i < JUMPS; i++) {
        wait_until_blocked();
        syscall(SYS_tgkill, getpid(), getpid(), SIGALRM);
        wait_for_change(&jumps, i);
    }
    return argument;
}

__attribute__((noinline)) static void jump_case(void) {
    int ends[2];
    char byte;
    pthread_t thread;
    if (pipe(ends)) abort();
    struct sigaction action = {.sa_handler = on_jump, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    pthread_create(&thread, 0, jump_later, 0);
    if (sigsetjmp(back, 1)) jumps++;
    if (jumps < JUMPS) blocked_read(ends[0], &byte);
    pthread_join(thread, 0);
    printf("jumps %d\n", jumps);
}

// The mask that the program set is the one it finds.
__attribute__((noinline)) static void mask_case(void) {
    sigset_t all, old, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    sigprocmask(SIG_SETMASK, 0, &now);
    int trap = sigismember(&now, SIGTRAP), usr = sigismember(&now, SIGUSR1);
    sigprocmask(SIG_SETMASK, &old, &now);
    printf("mask %d %d %d\n", trap, usr, sigismember(&now, SIGTRAP));
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"grow", grow_case},       {"nested", nested_case}, {"restart", restart_case},
        {"ignored", ignored_case}, {"jump", jump_case},     {"mask", mask_case},
        OWN_CASES
    };
    setvbuf(stdout, 0, _IOLBF, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) cases[i].run();
    return caught & 63;
}
