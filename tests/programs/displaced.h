// What displaced64.c and displaced32.c share: each case is run as it is, and once more under the program's own trap flag.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TRAP_FLAG = 0x100, MOST = 400 };

struct step {
    long at, flags;
    int signal;
};

static struct step steps[MOST];
static int count;
static unsigned long start, end;

// Notes where the program counter is. A breakpoint of the case's own is skipped over by the processor, ud2 and a call that
// faults by hand.
static void on_trap(int signal, siginfo_t *info, void *context) {
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long pc = (unsigned long)registers[PC];
    if (pc >= start && pc <= end && count < MOST)
        steps[count++] = (struct step){(long)(pc - start), registers[REG_EFL] & TRAP_FLAG, signal};
    if (signal == SIGILL || signal == SIGSEGV) registers[PC] += 2;
}

__attribute__((noinline)) static void run_case(const char *name, unsigned long (*run)(void), void *behind, int step) {
    start = (unsigned long)run;
    end = (unsigned long)behind;
    count = 0;
    unsigned long result = step ? stepped(run) : run();
    if (result - start < end - start) printf("%s: start + %lu\n", name, result - start);
    else printf("%s: %lu\n", name, result);
    for (int i = 0; i < count; i++) printf("  %ld %lx %d\n", steps[i].at, steps[i].flags, steps[i].signal);
}

static volatile long alarms;

static void on_alarm(int signal) {
    (void)signal;
    alarms++;
}

// With `storm` a timer signals each millisecond.
static void prepare(int storm) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGTRAP, &action, 0);
    sigaction(SIGILL, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &alarm, 0);
    struct itimerval each = {{0, 1000}, {0, 1000}};
    if (storm) setitimer(ITIMER_REAL, &each, 0);
}

// A case is a function without arguments, of which the assembly text is the whole body.
#define CASE(name, text)                                                                                                       \
    extern unsigned long case_##name(void);                                                                                    \
    extern char behind_##name[];                                                                                               \
    __asm__(".text\n.p2align 4\n.type case_" #name ", @function\ncase_" #name ":\n" text "\nbehind_" #name                      \
            ":\n.size case_" #name ", . - case_" #name "\n");

struct known {
    const char *name;
    unsigned long (*run)(void);
    void *behind;
};
#define KNOWN(name) {#name, case_##name, behind_##name},
