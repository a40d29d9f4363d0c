// Instructions that mean something else elsewhere, one a case. Arguments: run, step or storm, and a case's name or nothing.
#define PC REG_RIP
static unsigned long stepped(unsigned long (*run)(void));
#include "displaced.h"

// Sets the trap flag, calls, and clears it again.
__attribute__((noinline)) static unsigned long stepped(unsigned long (*run)(void)) {
    unsigned long result;
    __asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; call *%1; pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp"
                     : "=a"(result)
                     : "r"(run)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    return result;
}

__asm__(".data\n.p2align 6\nwords: .quad 11, 22, 33, 44, 55, 66, 77, 88\nbuffer: .fill 64\ntarget: .quad leaf\nfar_target: .quad 0\n.value 0x33\n.text\n"
        ".type leaf, @function\nleaf: mov $5, %eax; ret\n.size leaf, . - leaf\n");

// Calls, near and indirect; where the return address goes, and where an operand is read with the stack pointer before the push.
CASE(call_relative, "call leaf; add $1, %eax; ret")
CASE(call_register, "lea leaf(%rip), %rdx; call *%rdx; add $2, %eax; ret")
CASE(call_rip_memory, "call *target(%rip); add $3, %eax; ret")
CASE(call_stack_memory, "lea leaf(%rip), %rdx; push %rdx; push $0; call *8(%rsp); add $16, %rsp; add $4, %eax; ret")
CASE(call_by_stack_pointer, "sub $24, %rsp; lea leaf(%rip), %rdx; mov %rdx, (%rsp); mov %rsp, %rdx; call *(%rdx); add $24, %rsp; ret")
CASE(call_next, "call 1f; 1: pop %rax; ret")
CASE(call_itself, "mov $2, %eax; 1: dec %eax; jz 2f; call 1b; 2: mov $6, %eax; pop %rdx; jmp 3f; 3: ret")
CASE(call_with_prefixes, ".byte 0x2e, 0x3e; call leaf; ret")
CASE(recursion, "mov $6, %edx; 1: dec %edx; jz 2f; call 1b; 2: lea 32(%rsp, %rdx), %rax; sub %rsp, %rax; ret")
// Returns.
CASE(return_freeing, "lea 1f(%rip), %rdx; push $1; push $2; push %rdx; ret $16; 1: mov $7, %eax; ret")
CASE(return_with_rep, "mov $8, %eax; rep ret")
CASE(far_return, "push $0x33; lea 1f(%rip), %rdx; push %rdx; lretq; 1: mov $9, %eax; ret")
CASE(interrupt_return, "mov %rsp, %rdx; mov %ss, %ecx; push %rcx; push %rdx; pushfq; push $0x33; lea 1f(%rip), %rdx; push %rdx; iretq; 1: mov $10, %eax; ret")
// Jumps.
CASE(jump_short, "jmp 1f; mov $99, %eax; 1: mov $11, %eax; ret")
CASE(jump_near_back, "jmp 2f; 1: mov $12, %eax; ret; 2: .byte 0xe9; .long 1b - 3f; 3: ret")
CASE(jump_register, "lea 1f(%rip), %r11; jmp *%r11; ud2; 1: mov $13, %eax; ret")
CASE(jump_table, "lea 2f(%rip), %rdx; mov $1, %ecx; jmp *(%rdx, %rcx, 8); 1: mov $14, %eax; ret; .section .data.rel.ro, \"aw\"; .p2align 3; 2: .quad 0, 1b; .text")
CASE(conditions, "xor %eax, %eax; mov $3, %ecx; cmp $3, %ecx; je 1f; inc %eax; 1: jne 2f; inc %eax; 2: jb 3f; inc %eax; 3: jae 4f; inc %eax;"
                 "4: jl 5f; inc %eax; 5: jle 6f; inc %eax; 6: js 7f; inc %eax; 7: jp 8f; inc %eax; 8: jo 9f; inc %eax; 9: ret")
CASE(loops, "xor %eax, %eax; mov $3, %ecx; 1: inc %eax; loop 1b; mov $2, %ecx; 2: inc %eax; cmp $9, %eax; loopne 2b; jrcxz 3f; inc %eax; 3: ret")
// Operands relative to the instruction pointer, in every register that a scratch register could be mistaken for.
CASE(rip_relative, "mov words(%rip), %rax; mov words+8(%rip), %rcx; mov words+16(%rip), %rdx; mov words+24(%rip), %rsi; mov words+32(%rip), %rdi;"
                   "mov words+40(%rip), %r8; mov words+48(%rip), %r9; mov words+56(%rip), %r10; add %rcx, %rax; add %rdx, %rax; add %rsi, %rax;"
                   "add %rdi, %rax; add %r8, %rax; add %r9, %rax; add %r10, %rax; ret")
CASE(rip_relative_saved, "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov words(%rip), %rbx; mov words+8(%rip), %rbp;"
                         "mov words+16(%rip), %r12; mov words+24(%rip), %r13; mov words+32(%rip), %r14; mov words+40(%rip), %r15; lea (%rbx, %rbp), %rax;"
                         "add %r12, %rax; add %r13, %rax; add %r14, %rax; add %r15, %rax; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret")
CASE(rip_relative_written, "mov $17, %edx; mov %rdx, buffer(%rip); incq buffer(%rip); lock addq $3, buffer(%rip); xchg %rdx, buffer(%rip); mov %rdx, %rax;"
                           "notq buffer+8(%rip); notq buffer+8(%rip); ret")
CASE(rip_relative_immediate, "movq $-5, buffer(%rip); cmpq $-5, buffer(%rip); sete %al; movzx %al, %eax; shlq $3, buffer(%rip); btsl $1, buffer(%rip); mov buffer(%rip), %rax; neg %rax; ret")
CASE(rip_address, "lea 1f(%rip), %rax; 1: ret")
CASE(rip_relative_avx, "push %rbx; mov $1, %eax; cpuid; pop %rbx; bt $28, %ecx; jnc 1f; vmovdqu words(%rip), %ymm0; vpaddq words+32(%rip), %xmm0, %xmm1; vmovq %xmm1, %rax; vzeroupper; jmp 2f; 1: mov $66, %eax; 2: ret")
CASE(rip_relative_sse, "movdqu words(%rip), %xmm0; paddq words(%rip), %xmm0; movq %xmm0, %rax; ret")
// The stack.
CASE(push_pop, "push %rsp; pop %rax; sub %rsp, %rax; push $-3; pop %rdx; sub %rdx, %rax; ret")
CASE(stack_operands, "push $31; push (%rsp); pop (%rsp); pop %rax; sub $8, %rsp; movq $1, (%rsp); incq (%rsp); pop %rax; ret")
CASE(enter_leave, "enter $32, $1; movq $18, -16(%rbp); mov -16(%rbp), %rax; leave; ret")
CASE(flags, "pushfq; pop %rax; and $0x100, %eax; push %rax; stc; pushfq; popfq; setc %al; movzx %al, %eax; pop %rdx; or %rdx, %rax; and $0xff, %eax; ret")
CASE(flags_cleared, "pushfq; andq $~0x100, (%rsp); popfq; nop; nop; mov $19, %eax; ret")
// System calls: the register that holds the next address, the one that holds the flags, and the trap that comes late.
CASE(system_call, "mov $110, %eax; syscall; lea 1f(%rip), %rdx; sub %rcx, %rdx; 1: mov %r11, %rax; and $0x100, %eax; lea (%rdx, %rax), %rax; and $0xff, %eax; ret")
CASE(system_call_prefixed, "mov $110, %eax; .byte 0x2e; syscall; mov %rcx, %rax; ret")
CASE(interrupt_0x80, "mov $20, %eax; int $0x80; mov $20, %eax; ret")
CASE(system_calls_in_a_row, "mov $110, %eax; syscall; syscall; syscall; mov $21, %eax; ret")
CASE(stack_segment, "mov %ss, %edx; mov %edx, %ss; nop; mov %edx, %ss; mov %edx, %ss; mov $22, %eax; ret")
CASE(stack_segment_then_call, "mov %ss, %edx; mov %edx, %ss; call leaf; ret")
CASE(stack_segment_then_system_call, "mov $110, %eax; mov %ss, %edx; mov %edx, %ss; syscall; mov $23, %eax; ret")
// Selectors that a program may load and that ptrace may not set.
CASE(null_selectors, "mov %ds, %r8d; mov %es, %r9d; mov $1, %eax; mov %eax, %ds; mov $2, %eax; mov %eax, %es; mov $3, %eax; mov %eax, %gs;"
                     "call leaf; xor %edx, %edx; mov %edx, %gs; mov %r8d, %ds; mov %r9d, %es; ret")
// What traps or faults by itself.
CASE(own_breakpoint, "int3; mov $24, %eax; ret")
CASE(own_long_breakpoint, ".byte 0xcd, 3; mov $25, %eax; ret")
CASE(undefined, "ud2; mov $26, %eax; ret")
// Some processors have written the return address when they find that no address can be called.
CASE(faulting_call, "push $55; pop %rcx; movabs $0x8000000000000000, %rdx; call *%rdx; mov -8(%rsp), %rax; ret")
// Repeated, and others that a copy must leave as they are.
CASE(repeated, "lea words(%rip), %rsi; lea buffer(%rip), %rdi; mov $5, %ecx; rep movsq; lea buffer(%rip), %rdi; mov $44, %eax; mov $9, %ecx; repne scasq; mov %rcx, %rax; ret")
CASE(repeated_not_at_all, "xor %ecx, %ecx; rep stosb; mov $27, %eax; ret")
CASE(segment_override, "mov %fs:0, %rax; sub %fs:0, %rax; ret")
CASE(serialising, "xor %eax, %eax; push %rbx; cpuid; pop %rbx; mov $28, %eax; ret")
CASE(no_operations, "nop; .byte 0x66, 0x90; nopw 8(%rax, %rax); endbr64; pause; mov $29, %eax; ret")
CASE(table_look_up, "push %rbx; lea words(%rip), %rbx; mov $8, %al; xlat; movzx %al, %eax; pop %rbx; ret")
CASE(compare_exchange, "mov $1, %eax; mov %rax, buffer(%rip); mov $30, %edx; lock cmpxchg %rdx, buffer(%rip); mov buffer(%rip), %rax; ret")

static const struct known known[] = {
    KNOWN(call_relative) KNOWN(call_register) KNOWN(call_rip_memory) KNOWN(call_stack_memory) KNOWN(call_by_stack_pointer) KNOWN(call_next)
    KNOWN(call_itself) KNOWN(call_with_prefixes) KNOWN(recursion) KNOWN(return_freeing) KNOWN(return_with_rep) KNOWN(far_return)
    KNOWN(interrupt_return) KNOWN(jump_short) KNOWN(jump_near_back) KNOWN(jump_register) KNOWN(jump_table) KNOWN(conditions) KNOWN(loops)
    KNOWN(rip_relative) KNOWN(rip_relative_saved) KNOWN(rip_relative_written) KNOWN(rip_relative_immediate) KNOWN(rip_address)
    KNOWN(rip_relative_avx) KNOWN(rip_relative_sse) KNOWN(push_pop) KNOWN(stack_operands) KNOWN(enter_leave) KNOWN(flags)
    KNOWN(flags_cleared) KNOWN(system_call) KNOWN(system_call_prefixed) KNOWN(interrupt_0x80) KNOWN(system_calls_in_a_row)
    KNOWN(stack_segment) KNOWN(stack_segment_then_call) KNOWN(stack_segment_then_system_call) KNOWN(null_selectors) KNOWN(own_breakpoint)
    KNOWN(own_long_breakpoint) KNOWN(undefined) KNOWN(faulting_call) KNOWN(repeated) KNOWN(repeated_not_at_all) KNOWN(segment_override) KNOWN(serialising)
    KNOWN(no_operations) KNOWN(table_look_up) KNOWN(compare_exchange)
};

int main(int argc, char **argv) {
    int storm = argc > 1 && !strcmp(argv[1], "storm");
    int step = storm || (argc > 1 && !strcmp(argv[1], "step"));
    prepare(storm);
    for (int round = 0; round < (storm ? 10 : 1); round++)
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
            if (argc < 3 || !strcmp(argv[2], known[i].name)) run_case(known[i].name, known[i].run, known[i].behind, step);
    return 0;
}
