/* What shows that a program is single-stepped, and what steps badly. Each part says what it saw; the output is the same alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t traps, alarms, segvs;
static sigjmp_buf back;

static void on_trap(int n, siginfo_t *info, void *context) {
    (void)n;
    traps++;
    /* Of a brk, and not of raise. */
    if (info->si_code > 0) ((ucontext_t *)context)->uc_mcontext.pc += 4;
}
static void on_alarm(int n) { (void)n; asm volatile("mov x7, #99" ::: "x7"); alarms++; }
static void on_segv(int n) { (void)n; segvs++; siglongjmp(back, 1); }

static int add(int *place, int value) {
    int old, sum, failed;
    asm volatile("1: ldaxr %w0, [%3]; add %w1, %w0, %w4; stlxr %w2, %w1, [%3]; cbnz %w2, 1b"
                 : "=&r"(old), "=&r"(sum), "=&r"(failed) : "r"(place), "r"(value) : "memory");
    return sum;
}

static int exchange_if(int *place, int wanted, int value) {
    int old, failed;
    asm volatile("1: ldxr %w0, [%2]; cmp %w0, %w3; b.ne 2f; stxr %w1, %w4, [%2]; cbnz %w1, 1b; 2:"
                 : "=&r"(old), "=&r"(failed) : "r"(place), "r"(wanted), "r"(value) : "memory", "cc");
    return old;
}

static void lock(int *place) {
    int old;
    asm volatile("1: ldaxrb %w0, [%1]; cbnz %w0, 1b; stxrb %w0, %w2, [%1]; cbnz %w0, 1b"
                 : "=&r"(old) : "r"(place), "r"(1) : "memory");
}

static uint64_t exchange_pair(uint64_t *place, uint64_t low, uint64_t high) {
    uint64_t first, second;
    int failed;
    asm volatile("1: ldxp %0, %1, [%3]; stxp %w2, %4, %5, [%3]; cbnz %w2, 1b"
                 : "=&r"(first), "=&r"(second), "=&r"(failed) : "r"(place), "r"(low), "r"(high) : "memory");
    return first + second;
}

static void exclusives(void) {
    static int number, locked;
    static uint64_t pair[2] __attribute__((aligned(16))) = {1, 2};
    for (int i = 1; i <= 5; i++) add(&number, i);
    printf("sum %d\n", number);
    printf("exchanged %d", exchange_if(&number, 15, 7));
    printf(" not %d now %d\n", exchange_if(&number, 15, 8), number);
    lock(&locked);
    printf("locked %d\n", locked);
    printf("pair %d", (int)exchange_pair(pair, 3, 4));
    printf(" now %d\n", (int)(pair[0] + pair[1]));
    int alone, given;
    asm volatile("ldxr %w0, [%2]; clrex; mov %w1, #1; stxr %w1, %w0, [%2]" : "=&r"(alone), "=&r"(given) : "r"(&number) : "memory");
    printf("without the monitor %d\n", given);
}

static void traps_of_its_own(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    asm volatile("brk #7");
    raise(SIGTRAP);
    printf("traps %d\n", (int)traps);
    /* The handler must survive that the program blocks the signal. */
    sigset_t set, old;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    for (volatile int i = 0; i < 10; i++) {}
    sigset_t seen;
    sigprocmask(SIG_BLOCK, NULL, &seen);
    printf("SIGTRAP blocked %d\n", sigismember(&seen, SIGTRAP));
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigaction(SIGTRAP, NULL, &action);
    printf("handler kept %d\n", action.sa_sigaction == on_trap);
}

static void calls(void) {
    register long x8 asm("x8") = SYS_getppid;
    register long x0 asm("x0") = 0;
    register long x7 asm("x7") = 77;
    asm volatile("svc #0" : "+r"(x0), "+r"(x7) : "r"(x8) : "memory");
    long kept = x7;
    printf("x7 %ld\n", kept);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    register long number asm("x8") = SYS_kill;
    register long pid asm("x0") = getpid();
    register long signal asm("x1") = SIGALRM;
    register long seven asm("x7") = 77;
    number = SYS_kill;
    signal = SIGALRM;
    seven = 77;
    asm volatile("svc #0" : "+r"(pid), "+r"(seven) : "r"(number), "r"(signal) : "memory");
    kept = seven;
    printf("x7 behind a handler %ld, alarms %d\n", kept, (int)alarms);
    alarms = 0;
}

static void signals(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    int ends[2];
    if (pipe(ends)) return;
    pid_t child = fork();
    if (child == 0) {
        struct timespec time = {0, 30000000};
        nanosleep(&time, NULL);
        kill(getppid(), SIGALRM);
        kill(getppid(), SIGWINCH);
        nanosleep(&time, NULL);
        if (write(ends[1], "!", 1) != 1) _exit(1);
        _exit(3);
    }
    char byte;
    ssize_t got = read(ends[0], &byte, 1);
    int status;
    waitpid(child, &status, 0);
    printf("read %zd, alarms %d, child %d\n", got, (int)alarms, WEXITSTATUS(status));
    struct timespec wait = {0, 1000000};
    printf("nanosleep %d\n", nanosleep(&wait, NULL));
    action.sa_handler = on_segv;
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(back, 1)) *(volatile char *)8 = 1;
    void (*nowhere)(void) = (void (*)(void))16;
    if (!sigsetjmp(back, 1)) nowhere();
    printf("segvs %d\n", (int)segvs);
}

static void changing_code(void) {
    uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        /* mov w0, #i; ret, or with a nop between. */
        uint32_t body[] = {0x52800000 | i << 5, i & 1 ? 0xd503201f : 0xd65f03c0, 0xd65f03c0};
        memcpy(code, body, sizeof body);
        __builtin___clear_cache((char *)code, (char *)code + sizeof body);
        sum += ((int (*)(void))code)();
    }
    printf("changing code %d\n", sum);
}

int main(int count, char **arguments) {
    (void)arguments;
    setvbuf(stdout, NULL, _IONBF, 0);
    char go;
    /* With an argument it waits to be attached to. */
    if (count > 1 && read(0, &go, 1) != 1) return 1;
    exclusives();
    traps_of_its_own();
    calls();
    signals();
    changing_code();
    return 7;
}
