// Functions that begin with a branch, a call or a return, in a hot loop in some threads until a byte comes. Prints how many results were wrong.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 3

long returns(long), jumps(long), jumps_far(long), jumps_by(long, void *), calls(long), tests(long);
long three(long);
void *target = three;

__asm__(".text\n"
        ".globl returns, jumps, jumps_far, jumps_by, calls, tests, three\n"
        "three: lea 3(%rdi), %rax; ret; nop; nop; nop; nop\n"
        "returns: ret; nop; nop; nop; nop\n"
        "jumps: .byte 0xe9; .long three - . - 4; nop\n"
        "jumps_far: jmp *target(%rip)\n"
        "jumps_by: jmp *%rsi; nop; nop; nop; nop\n"
        "calls: call three; add $1, %rax; ret; nop; nop\n"
        "tests: jz 1f; lea 4(%rdi), %rax; ret; 1: lea 5(%rdi), %rax; ret\n");

static volatile int over;
static volatile long wrong;

static long with_zero(long (*function)(long), long rdi, long rcx) {
    long rax = rdi;
    __asm__ volatile("test %%rcx, %%rcx; call *%3" : "+a"(rax), "+D"(rdi), "+c"(rcx) : "r"(function) : "rsi", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
    return rax;
}

static void *loop(void *argument) {
    (void)argument;
    for (long n = 0; !over; n++) {
        wrong += with_zero(returns, n, 0) != n;
        wrong += jumps(n) != n + 3;
        wrong += jumps_far(n) != n + 3;
        wrong += jumps_by(n, target) != n + 3;
        wrong += calls(n) != n + 4;
        wrong += with_zero(tests, n, n & 1) != n + ((n & 1) ? 4 : 5);
    }
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, loop, 0);
    printf("ready\n");
    fflush(stdout);
    char byte;
    if (read(0, &byte, 1) < 0) return 1;
    over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("wrong %ld\n", wrong);
    return 0;
}
