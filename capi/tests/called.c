/* Calls functions that begin with instructions of several kinds, as often as the argument says; ends with status 7. */
#include <stdio.h>
#include <stdlib.h>

long value = 2;

__asm__(".text\n"
        ".globl pushes, calls, loads, jumps\n"
        "pushes: push %rbx\n mov $1, %eax\n pop %rbx\n ret\n"
        "helper: mov $0, %eax\n ret\n"
        "calls: call helper\n ret\n"
        "loads: mov value(%rip), %rax\n ret\n"
        "jumps: jmp 1f\n int3\n1: mov $0, %eax\n ret\n");

long pushes(void), calls(void), loads(void), jumps(void);

int main(int argc, char **argv)
{
    long sum = 0, times = argc > 1 ? atol(argv[1]) : 1;

    for (long i = 0; i < times; i++)
        sum += pushes() + calls() + loads() + jumps() + i % 2;
    printf("sum %ld\n", sum);
    return 7;
}
