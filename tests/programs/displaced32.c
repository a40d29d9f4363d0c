// Instructions of 32-bit code that mean something else elsewhere, one a case. Arguments: run, step or storm, and a case's name or nothing.
#define PC REG_EIP
static unsigned long stepped(unsigned long (*run)(void));
#include "displaced.h"

// Sets the trap flag, calls, and clears it again.
__attribute__((noinline)) static unsigned long stepped(unsigned long (*run)(void)) {
    unsigned long result;
    __asm__ volatile("pushf; orl $0x100, (%%esp); popf; call *%1; pushf; andl $~0x100, (%%esp); popf"
                     : "=a"(result)
                     : "S"(run)
                     : "ecx", "edx", "edi", "cc", "memory");
    return result;
}

__asm__(".data\n.p2align 6\nwords: .long 11, 22, 33, 44, 55, 66, 77, 88\nbuffer: .fill 64\ntarget: .long leaf\nfar_target: .long 0\n.value 0x23\n.text\n"
        ".type leaf, @function\nleaf: mov $5, %eax; ret\n.size leaf, . - leaf\n");

CASE(call_relative, "call leaf; add $1, %eax; ret")
CASE(call_register, "mov $leaf, %edx; call *%edx; add $2, %eax; ret")
CASE(call_memory, "call *target; add $3, %eax; ret")
CASE(call_stack_memory, "push $leaf; push $0; call *4(%esp); add $8, %esp; add $4, %eax; ret")
CASE(call_next, "call 1f; 1: pop %eax; ret")
CASE(call_itself, "mov $2, %eax; 1: dec %eax; jz 2f; call 1b; 2: mov $6, %eax; pop %edx; jmp 3f; 3: ret")
CASE(return_freeing, "push $1; push $2; push $1f; ret $8; 1: mov $7, %eax; ret")
CASE(return_with_rep, "mov $8, %eax; rep ret")
CASE(far_return, "push %cs; push $1f; lret; 1: mov $9, %eax; ret")
CASE(far_jump, "movl $1f, far_target; ljmp *far_target; ud2; 1: mov $10, %eax; ret")
CASE(far_jump_direct, "ljmp $0x23, $1f; ud2; 1: mov $10, %eax; ret")
CASE(far_call, "lcall $0x23, $1f; mov $11, %eax; ret; 1: lret")
CASE(interrupt_return, "pushf; push %cs; push $1f; iret; 1: mov $12, %eax; ret")
CASE(jump_register, "mov $1f, %edx; jmp *%edx; ud2; 1: mov $13, %eax; ret")
CASE(jump_table, "mov $1, %ecx; jmp *2f(, %ecx, 4); 1: mov $14, %eax; ret; .data; .p2align 2; 2: .long 0, 1b; .text")
CASE(conditions, "xor %eax, %eax; mov $3, %ecx; cmp $3, %ecx; je 1f; inc %eax; 1: jne 2f; inc %eax; 2: jb 3f; inc %eax; 3: jae 4f; inc %eax;"
                 "4: jl 5f; inc %eax; 5: jle 6f; inc %eax; 6: js 7f; inc %eax; 7: jp 8f; inc %eax; 8: jo 9f; inc %eax; 9: ret")
CASE(loops, "xor %eax, %eax; mov $3, %ecx; 1: inc %eax; loop 1b; mov $0x10002, %ecx; 2: inc %eax; loopw 2b; jcxz 3f; inc %eax; 3: jecxz 4f; inc %eax; 4: ret")
CASE(absolute_operands, "mov words, %eax; add words+4, %eax; movl $3, buffer; lock addl $4, buffer; add buffer, %eax; ret")
CASE(push_pop, "push %esp; pop %eax; sub %esp, %eax; push $-3; pop %edx; sub %edx, %eax; ret")
CASE(push_all, "pusha; mov %esp, %eax; popa; mov $15, %eax; ret")
CASE(segments_on_the_stack, "push %ds; pop %ds; push %es; pop %es; push %ss; pop %ss; nop; mov $16, %eax; ret")
CASE(stack_segment, "mov %ss, %edx; mov %edx, %ss; mov %edx, %ss; mov $17, %eax; ret")
CASE(stack_segment_then_call, "push %ss; pop %ss; call leaf; ret")
CASE(enter_leave, "enter $32, $1; movl $18, -12(%ebp); mov -12(%ebp), %eax; leave; ret")
CASE(flags_cleared, "pushf; andl $~0x100, (%esp); popf; nop; nop; mov $19, %eax; ret")
CASE(flags_16, "pushfw; popfw; mov $20, %eax; ret")
CASE(interrupt_0x80, "mov $20, %eax; int $0x80; mov $21, %eax; ret")
CASE(interrupts_in_a_row, "mov $20, %eax; int $0x80; int $0x80; .byte 0x2e; int $0x80; mov $22, %eax; ret")
CASE(own_breakpoint, "int3; mov $24, %eax; ret")
CASE(own_long_breakpoint, ".byte 0xcd, 3; mov $25, %eax; ret")
CASE(undefined, "ud2; mov $26, %eax; ret")
CASE(repeated, "push %esi; push %edi; mov $words, %esi; mov $buffer, %edi; mov $5, %ecx; rep movsl; mov $buffer, %edi; mov $44, %eax; mov $9, %ecx;"
               "repne scasl; mov %ecx, %eax; pop %edi; pop %esi; ret")
CASE(segment_override, "mov %gs:0, %eax; sub %gs:0, %eax; ret")
CASE(decimal, "mov $0x1234, %eax; daa; das; aaa; aas; aam; aad; .byte 0xd6; movzx %al, %eax; ret")
CASE(increments, "xor %eax, %eax; inc %eax; inc %ax; dec %eax; .byte 0x40; ret")
CASE(loaded_pointers, "push %es; movl $27, buffer; mov %ds, buffer+4; les buffer, %eax; pop %es; ret")
CASE(operands_of_16_bits, "pushw $0; popw %ax; movzx %ax, %eax; ret")

static const struct known known[] = {
    KNOWN(call_relative) KNOWN(call_register) KNOWN(call_memory) KNOWN(call_stack_memory) KNOWN(call_next) KNOWN(call_itself)
    KNOWN(return_freeing) KNOWN(return_with_rep) KNOWN(far_return) KNOWN(far_jump) KNOWN(far_jump_direct) KNOWN(far_call)
    KNOWN(interrupt_return) KNOWN(jump_register) KNOWN(jump_table) KNOWN(conditions) KNOWN(loops) KNOWN(absolute_operands)
    KNOWN(push_pop) KNOWN(push_all) KNOWN(segments_on_the_stack) KNOWN(stack_segment) KNOWN(stack_segment_then_call) KNOWN(enter_leave)
    KNOWN(flags_cleared) KNOWN(flags_16) KNOWN(interrupt_0x80) KNOWN(interrupts_in_a_row) KNOWN(own_breakpoint)
    KNOWN(own_long_breakpoint) KNOWN(undefined) KNOWN(repeated) KNOWN(segment_override) KNOWN(decimal) KNOWN(increments)
    KNOWN(loaded_pointers) KNOWN(operands_of_16_bits)
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
