// The function of calls.c that is held in the middle: numbers on the stack, in a vector register and in a flag.
__asm__(".globl busy, at_busy\n"
        "busy: sub sp, sp, #16\n\tmov x0, #1000\n\tmov x1, #200\n\tstp x0, x1, [sp]\n\tmov x0, #30\n\tfmov d7, x0\n\tcmp x0, x0\n"
        "at_busy: mov x0, #0\n\tadc x0, x0, xzr\n\tldp x1, x2, [sp], #16\n\tadd x0, x0, x1\n\tadd x0, x0, x2\n\tfmov x1, d7\n\tadd x0, x0, x1\n\tret\n");

// Uses up what `busy` needs.
#define DISTURB() __asm__ volatile("movi v7.2d, #0\n\tcmn xzr, xzr" ::: "v7", "cc")
