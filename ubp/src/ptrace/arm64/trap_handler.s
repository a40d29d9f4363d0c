// Handles SIGTRAP in AArch64 programs when the tracer is gone. See breakpoints/trap_handler.rs.
//
// The page: this code, at DATA two `struct sigaction` of the kernel (this handler; the default), and at ARENAS the addresses of the
// arenas up to a zero. core/layout.rs describes an arena.
    .pushsection .rodata.trap_handler, "a", @progbits
    .set DATA, 2048
    .set DEFAULT, DATA + 32
    .set ARENAS, DATA + 288
    // Of struct ucontext: uc_mcontext.pc.
    .set PC, 440
    // si_code of brk.
    .set TRAP_BRKPT, 1
    // A tracer that attaches at the same time restores the instruction before it retires the entry, and writes the entry before
    // the breakpoint instruction. The handler looks at both again, at most this often, until they agree.
    .set LOOKS, 16
    .globl ubp_trap_handler, ubp_trap_handler_end
    .balign 4

// handler(signal, siginfo: x1, ucontext: x2). rt_sigreturn restores all registers; svc changes x0 alone.
ubp_trap_handler:
    adr x12, ubp_trap_handler
    mov x19, x2
    ldr w9, [x1, #8]
    cmp w9, #TRAP_BRKPT
    b.ne 9f
    // x14: the site.
    ldr x14, [x19, #PC]
    mov w22, #LOOKS
11: add x15, x12, #ARENAS
    mov x13, #0
2:  // The next arena: x1; w3: capacity, w2: words of the index, x4: entries, x5: slots.
    ldr x1, [x15], #8
    cbz x1, 5f
    ldr w3, [x1, #16]
    ldr w2, [x1, #20]
    lsl x4, x2, #2
    add x4, x4, #127
    and x4, x4, #-64
    add x4, x4, x1
    add x5, x4, x3, lsl #5
    // Is the thread in a slot? Then the instruction is done, and the thread continues behind it.
    subs x6, x14, x5
    b.lo 3f
    lsr x6, x6, #5
    cmp x6, x3
    b.hs 3f
    add x6, x4, x6, lsl #5
    ldr x7, [x6]
    ldrb w8, [x6, #24]
    add x7, x7, x8
    str x7, [x19, #PC]
    ret
3:  // The entry of the site, by the index (core/index.rs).
    ldr x6, 10f
    mul x6, x6, x14
    lsr x6, x6, #32
    mul x6, x6, x2
    lsr x6, x6, #32
    mov w9, w2
    sub w11, w2, #1
    add x10, x1, #64
4:  ldr w7, [x10, x6, lsl #2]
    cbz w7, 2b
    sub w7, w7, #1
    cmp w7, w3
    b.hs 2b
    add x16, x4, x7, lsl #5
    ldr x8, [x16]
    cmp x8, x14
    b.eq 12f
    add w6, w6, #1
    and w6, w6, w11
    subs w9, w9, #1
    b.ne 4b
    b 2b
12: // x13: the entry, if there is one. A breakpoint instruction of the program (any brk) is not ours.
    ldr w7, [x16, #8]
    and w7, w7, #0xffe0001f
    movz w8, #0xd420, lsl #16
    cmp w7, w8
    csel x13, x16, xzr, ne
5:  // w20: openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC)
    mov x8, #56
    mov x0, #-100
    adr x1, 7f
    movz w2, #8, lsl #16
    orr w2, w2, #2
    svc #0
    tbnz w0, #31, 9f
    mov w20, w0
    // Does a breakpoint instruction still stand there? pread64
    sub sp, sp, #16
    str xzr, [sp]
    mov x8, #67
    mov x1, sp
    mov x2, #4
    mov x3, x14
    svc #0
    ldr w9, [sp]
    add sp, sp, #16
    mov x0, #0
    and w9, w9, #0xffe0001f
    movz w10, #0xd420, lsl #16
    cmp w9, w10
    b.ne 6f
    // The instruction is ours only where the site is active (1): pwrite64
    mov x0, #-1
    cbz x13, 6f
    ldrb w9, [x13, #25]
    cmp w9, #1
    b.ne 6f
    mov x8, #68
    mov w0, w20
    add x1, x13, #8
    mov x2, #4
    mov x3, x14
    svc #0
6:  mov x21, x0
    // close
    mov x8, #57
    mov w0, w20
    svc #0
    tbz x21, #63, 14f
    subs w22, w22, #1
    b.ne 11b
    b 9f
14: ret
7:  .asciz "/proc/self/mem"
    .balign 8
10: .quad 0x9e3779b97f4a7c15
9:  // The trap is not ours: reset the default action and raise the signal, which arrives when this handler returns.
    // rt_sigaction, getpid, gettid, tgkill
    mov x8, #134
    mov x0, #5
    add x1, x12, #DEFAULT
    mov x2, #0
    mov x3, #8
    svc #0
    mov x8, #172
    svc #0
    mov x21, x0
    mov x8, #178
    svc #0
    mov x1, x0
    mov x0, x21
    mov x2, #5
    mov x8, #131
    svc #0
    ret
ubp_trap_handler_end:
    .popsection
