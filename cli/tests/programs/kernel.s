# What the kernel's tables name, in sections of their names: a module if it is only assembled, a kernel if it is linked.
.intel_syntax noprefix
.macro entry section, place, size
    .pushsection \section, "a"
    .long \place - .
    .fill \size - 4
    .popsection
.endm

.text
.globl traced
traced:
    endbr64
.Llocation:
    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
    push rbp
    mov rbp, rsp
    mov eax, edi
    jmp elsewhere
    .pushsection __mcount_loc, "a"
    .quad .Llocation
    .popsection

.globl faulting
faulting:
    mov rax, [rdi]
    nop
    nop
    ret
    entry __ex_table, faulting, 12

.globl patched
patched:
    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
    ud2
    vzeroupper
    ret
    entry __jump_table, patched, 16
    entry __bug_table, patched + 5, 16

.globl forbidden
forbidden:
    mov eax, 1
    ret
    .pushsection _kprobe_blacklist, "a"
    .quad forbidden
    .popsection

.section .noinstr.text, "ax"
.globl unseen
unseen:
    nop

.section .text.unlikely, "ax"
.globl elsewhere
elsewhere:
    nop
    nop
    nop
    nop
    nop
    ret

.section .init.text, "ax"
    nop
