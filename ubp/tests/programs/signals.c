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

#define PC(context) ((ucontext_t *)(context))->uc_mcontext.gregs[REG_RIP]
#define REGISTER(context, name) ((ucontext_t *)(context))->uc_mcontext.gregs[name]

extern char at_load[], at_ud2[], at_div[], at_int3[], at_call[], at_push[], at_store[], at_ret[];

static void note(int signal, siginfo_t *info, void *context) {
    (void)signal;
    caught++;
    seen_pc = PC(context);
    seen_address = (uintptr_t)info->si_addr;
    seen_code = info->si_code;
}

static void on_segv(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    if (fixed) REGISTER(context, REG_RBX) = fixed;
}

static void on_map(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void on_skip2(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    PC(context) += 2;
}

static void on_div(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    REGISTER(context, REG_RBX) = 5;
}

static void catch(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    if (sigaction(signal, &action, 0)) abort();
}

__attribute__((noinline)) static void load_case(void) {
    long good = 42, result;
    catch(SIGSEGV, on_segv, 0);
    fixed = (uintptr_t)&good;
    __asm__ volatile("at_load: mov (%%rbx), %0" : "=r"(result) : "b"(0x123456000l));
    printf("load %ld caught %d pc %d address %lx code %d\n", result, caught, seen_pc == (uintptr_t)at_load, seen_address, seen_code);
}

__attribute__((noinline)) static void store_case(void) {
    char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    catch(SIGSEGV, on_map, 0);
    __asm__ volatile("at_store: movb $7, (%0)" ::"r"(page + 5) : "memory");
    printf("store %d caught %d pc %d address %d\n", page[5], caught, seen_pc == (uintptr_t)at_store, seen_address == (uintptr_t)page + 5);
}

__attribute__((noinline)) static void ud2_case(void) {
    catch(SIGILL, on_skip2, 0);
    __asm__ volatile("at_ud2: ud2");
    printf("ud2 caught %d pc %d address %d code %d\n", caught, seen_pc == (uintptr_t)at_ud2, seen_address == (uintptr_t)at_ud2, seen_code);
}

__attribute__((noinline)) static void div_case(void) {
    long quotient;
    catch(SIGFPE, on_div, 0);
    __asm__ volatile("at_div: idivq %%rbx" : "=a"(quotient) : "a"(35l), "d"(0l), "b"(0l));
    printf("div %ld caught %d pc %d address %d code %d\n", quotient, caught, seen_pc == (uintptr_t)at_div, seen_address == (uintptr_t)at_div, seen_code);
}

__attribute__((noinline)) static void int3_case(void) {
    catch(SIGTRAP, note, 0);
    __asm__ volatile("at_int3: int3");
    printf("int3 caught %d pc %d code %d\n", caught, seen_pc == (uintptr_t)at_int3 + 1, seen_code);
}

static void on_call(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    // Behind the call, as if it had returned.
    PC(context) = (uintptr_t)at_call + 2;
}

__attribute__((noinline)) static void call_case(void) {
    catch(SIGSEGV, on_call, 0);
    // Not canonical: the call itself faults.
    __asm__ volatile("at_call: call *%%rbx" ::"b"(0x8000000000000000ul) : "memory");
    printf("call caught %d pc %d address %lx code %d\n", caught, seen_pc == (uintptr_t)at_call, seen_address, seen_code);
}

static char alternate[1 << 16];

static void on_push(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

__attribute__((noinline)) static void push_case(void) {
    char *stack = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t other = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&other, 0);
    catch(SIGSEGV, on_push, SA_ONSTACK);
    // A call (emulated) and a pushf whose stack is not writable yet.
    __asm__ volatile("mov %%rsp, %%r12\n\tmov %0, %%rsp\n\tat_push: call 1f\n1: pop %%rax\n\tmov %%r12, %%rsp" ::"r"(stack + 8192)
                     : "rax", "r12", "memory");
    printf("push caught %d pc %d address %d\n", caught, seen_pc == (uintptr_t)at_push, seen_address == (uintptr_t)stack + 8184);
}

__attribute__((noinline)) static int deep(int n) {
    volatile char room[3000];
    room[0] = (char)n;
    return n == 0 ? room[0] : deep(n - 1) + (room[0] != 0);
}

// The stack has to grow by pushes and calls that are emulated.
__attribute__((noinline)) static void grow_case(void) { printf("grow %d\n", deep(2000)); }

// The first access below the stack's mapping is the push of a call.
__attribute__((noinline)) static void grow_by_call_case(void) {
    unsigned long start = 0, end;
    char line[256];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]")) sscanf(line, "%lx-%lx", &start, &end);
    fclose(maps);
    __asm__ volatile("mov %%rsp, %%r12\n\tmov %0, %%rsp\n\tcall 1f\n1: pop %%rax\n\tmov %%r12, %%rsp" ::"r"(start) : "rax", "r12", "memory");
    printf("grow by call %d\n", start != 0);
}

static volatile int steps;
static uintptr_t step_pcs[64];

static void on_step(int signal, siginfo_t *info, void *context) {
    (void)signal;
    if (steps < 64) step_pcs[steps] = PC(context) - (uintptr_t)at_int3;
    if ((uintptr_t)info->si_addr != (uintptr_t)PC(context)) caught++;
    steps++;
}

extern char at_trap[];

__attribute__((noinline)) static void trap_flag_case(void) {
    catch(SIGTRAP, on_step, 0);
    __asm__ volatile(
        "at_trap: pushf\n\torl $0x100, (%%rsp)\n\tpopf\n\t"
        "nop\n\tlea 1(%%rax), %%rax\n\tcall 2f\n\tjmp 3f\n2: ret\n3: push %%rax\n\tpop %%rax\n\t"
        "pushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\tnop" ::: "rax", "memory");
    printf("trap flag steps %d wrong %d:", steps, caught);
    for (int i = 0; i < steps && i < 64; i++) printf(" %lx", step_pcs[i] - ((uintptr_t)at_trap - (uintptr_t)at_int3));
    printf("\n");
}

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

extern char at_read[];
static volatile int alarms, jumps, wrong;
static void on_alarm(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    uintptr_t behind = (uintptr_t)at_read + 2;
    // The system call left its return address in rcx.
    if ((uintptr_t)PC(context) == behind || (uintptr_t)PC(context) == behind - 2) wrong += (uintptr_t)REGISTER(context, REG_RCX) != behind;
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

// A read whose system call is an instruction of this function.
__attribute__((noinline)) static long blocked_read(int descriptor, char *byte) {
    long result;
    __asm__ volatile("at_read: syscall" : "=a"(result) : "0"(0l), "D"((long)descriptor), "S"(byte), "d"(1l) : "rcx", "r11", "memory");
    return result;
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
    result = read(ends[0], &byte, 1);
    int error = errno;
    struct pollfd wanted = {ends[0], POLLIN, 0};
    int polled = poll(&wanted, 1, 1000000), poll_error = errno;
    struct timespec time = {1000, 0}, left;
    int slept = nanosleep(&time, &left), sleep_error = errno;
    pthread_join(thread, 0);
    printf("interrupt %ld %d poll %d %d sleep %d %d left %d alarms %d\n", result, error == EINTR, polled, poll_error == EINTR, slept,
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
        {"load", load_case},   {"store", store_case},     {"ud2", ud2_case},     {"div", div_case},         {"int3", int3_case},
        {"call", call_case},   {"push", push_case},       {"grow", grow_case}, {"growcall", grow_by_call_case},   {"trap", trap_flag_case},  {"nested", nested_case},
        {"restart", restart_case}, {"ignored", ignored_case}, {"jump", jump_case}, {"mask", mask_case},
    };
    setvbuf(stdout, 0, _IOLBF, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) cases[i].run();
    return caught & 63;
}
