// Calls `probe` on stacks of all kinds. It tells the sum of the words above its return address, as the program reads them, in its arguments.
// Arguments: calls of each kind, and with a second one a timer whose signals come all the time.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

// The words of the stack that `ask` sums at most. The test has the same number.
#define WORDS "500"

static volatile sig_atomic_t ticks;

__attribute__((naked, noinline)) void probe(long n, long sum, long count) {
    __asm__("mov %rdi, %rax\n add %rsi, %rax\n ret");
}

// Calls `probe` with n, and with the sum and the number of the words from its own return address up to `end`.
__attribute__((naked, noinline)) void ask(long n, void *end) {
    __asm__("lea 8(%rsp), %rax\n sub $8, %rax\n xor %ecx, %ecx\n xor %edx, %edx\n"
            "1: cmp %rsi, %rax\n jae 2f\n cmp $" WORDS ", %rdx\n jae 2f\n"
            "rol $1, %rcx\n add (%rax), %rcx\n add $8, %rax\n inc %rdx\n jmp 1b\n"
            "2: mov %rcx, %rsi\n lea 1(%rdi), %r10\n lea 2(%rdi), %r11\n call probe\n ret");
}

// Calls `ask` with `stack` as stack pointer.
__attribute__((naked, noinline)) void ask_on(long n, void *end, void *stack) {
    __asm__("push %rbx\n mov %rsp, %rbx\n mov %rdx, %rsp\n call ask\n mov %rbx, %rsp\n pop %rbx\n ret");
}

static void on_alarm(int signal) {
    (void)signal;
    ticks++;
}

// A recursion with frames of different sizes.
static void __attribute__((noinline)) descend(long n, long depth, void *end) {
    volatile long *frame = alloca(16 + (size_t)depth % 7 * 48);
    frame[0] = n * 31 + depth;
    if (depth > 0) descend(n, depth - 1, end);
    else ask(n, end);
    frame[1] = n;
}

static long calls;

static void *run(void *argument) {
    char here;
    for (long n = 0; n < calls; n++) descend(n, n % 60, (char *)(((uintptr_t)&here + 15) & -16));
    return argument;
}

int main(int argc, char **argv) {
    calls = argc > 1 ? atol(argv[1]) : 10;
    if (argc > 2) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, 0);
        struct itimerval often = {{0, 150}, {0, 150}};
        setitimer(ITIMER_REAL, &often, 0);
    }
    run(0);
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    // A stack whose memory ends right above it.
    char *stack = mmap(0, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(stack + 7 * 4096, 4096);
    memset(stack, 0x5a, 7 * 4096);
    char *end = stack + 7 * 4096;
    for (long n = 0; n < calls; n++) ask_on(n, end, end - 16 - n % 100 * 48);
    printf("done\n");
    return 0;
}
