// A function that other code enters at each of its instructions. Prints what it computes.
// Arguments: rounds, and the number of the instruction at which it is entered, or -1 for each in turn; a third makes it wait for a byte.
#include <stdio.h>
#include <stdlib.h>

long enter(void *at, long rax, long rdi);
void block(void);
// A loop of more than the five bytes of a jump, whose beginning no branch from outside knows.
long around(long);
// A branch before `inc` leads behind it, into the bytes that a jump there would replace.
long forward(long);

__asm__(".text\n"
        ".globl enter, block, around, forward, forward_end\n"
        "enter: mov %rsi, %rax; xchg %rdi, %rdx; clc; jmp *%rdx\n"
        "block: inc %eax; add $1, %rax; lea 1(%rax,%rax), %rax; cmc; adc %rdi, %rax; inc %rax; neg %rdi; sub %rdi, %rax; nop; ret\n"
        "around: xor %eax, %eax; nop; nop; add %rdi, %rax; lea 3(%rax), %rax; dec %rdi; jnz around + 4; ret\n"
        "forward: mov $5, %eax; test %edi, %edi; je 1f; inc %eax; 1: lea 3(%rax), %rax; ret\n"
        "forward_end:\n");

static const int offsets[] = {0, 2, 6, 11, 12, 15, 18, 21, 24, 25};

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    int only = argc > 2 ? atoi(argv[2]) : -1;
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (int i = 0; i < 10; i++) {
        if (only >= 0 && i != only && i != 0) continue;
        long all = 0;
        for (long round = 0; round < rounds; round++) all += enter((char *)block + offsets[i], round, 7);
        printf("+%d %ld\n", offsets[i], all);
    }
    printf("around %ld\n", around(rounds));
    printf("forward %ld %ld\n", forward(0), forward(1));
    return 0;
}
