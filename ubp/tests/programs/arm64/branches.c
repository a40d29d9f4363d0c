// Instructions that cannot, or can hardly, have a branch in their place.
#include <stdio.h>

// bti c; svc of getppid; a call through the link register; ret
__asm__(".text\n.p2align 2\n.global calls\n.type calls, %function\n"
        "calls: hint #34\n"
        "at_push: stp x29, x30, [sp, #-16]!\n"
        "mov x8, #173\n"
        "at_svc: svc #0\n"
        "adr x30, inner\n"
        "at_blr: blr x30\n"
        "ldp x29, x30, [sp], #16\n"
        "at_ret: ret\n"
        "inner: at_brk: cbz xzr, 1f\n"
        "at_trap: brk #7\n"
        "1: br x30\n"
        ".size calls, . - calls\n");

int calls(void);

int main(void) {
    long sum = 0;
    for (int i = 0; i < 100; i++) sum += calls() > 0;
    printf("%ld\n", sum);
    return 0;
}
