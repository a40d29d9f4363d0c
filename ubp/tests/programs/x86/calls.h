// The function of calls.c that is held in the middle: numbers in the red zone, in a vector register and in a flag.
__asm__(".globl busy, at_busy\n"
        "busy: movq $1000, -8(%rsp)\n\tmovq $200, -128(%rsp)\n\tmov $30, %eax\n\tmovq %rax, %xmm7\n\tstc\n"
        "at_busy: mov $0, %eax\n\tadc $0, %rax\n\tadd -8(%rsp), %rax\n\tadd -128(%rsp), %rax\n\tmovq %xmm7, %rcx\n\tadd %rcx, %rax\n\tret\n");

// Uses up what `busy` needs.
#define DISTURB() __asm__ volatile("pxor %%xmm7, %%xmm7\n\tclc" ::: "xmm7")
