# Handles SIGTRAP, SIGILL, SIGSEGV and SIGBUS in x86-64 programs when the tracer is gone. See breakpoints/trap_handler.rs.
#
# The page: this code, and at DATA `struct sigaction` of the kernel (this handler of SIGTRAP; the default; the program's for
# SIGTRAP; then for each of the other signals this handler, and the program's), then the addresses of the arenas up to a
# zero. core/layout.rs describes an arena.
    .pushsection .rodata.trap_handler_64, "a", @progbits
    .set DATA, 2048
    .set DEFAULT, DATA + 32
    .set FORMER_TRAP, DATA + 64
    .set FORMER_UNDEFINED, DATA + 128
    .set FORMER_SEGMENT, DATA + 192
    .set FORMER_BUS, DATA + 256
    .set ARENAS, DATA + 288
    # Of struct ucontext: uc_mcontext.gregs[REG_RIP] and [REG_EFL].
    .set RIP, 168
    .set EFLAGS, 176
    # Of struct ucontext: uc_sigmask. Of struct sigaction: sa_flags and sa_mask. The flag that leaves the signal unblocked.
    .set SIGMASK, 296
    .set SA_FLAGS, 8
    .set SA_MASK, 24
    .set SA_NODEFER, 0x40000000
    # si_code of debug exceptions with an empty DR6 (x86/trap.rs), of single steps, of debug registers and of int3.
    .set TRAP_BRKPT, 1
    .set TRAP_TRACE, 2
    .set TRAP_HWBKPT, 4
    .set SI_KERNEL, 0x80
    # A tracer that attaches at the same time restores the instruction before it retires the entry, and writes the entry before
    # the breakpoint instruction. The handler looks at both again, at most this often, until they agree.
    .set LOOKS, 16
    .globl ubp_trap_handler_64, ubp_trap_handler_64_of_jumps, ubp_trap_handler_64_restorer, ubp_trap_handler_64_gate, ubp_trap_handler_64_end

# handler(signal, siginfo: rsi, ucontext: rdx). rt_sigreturn restores all registers.
ubp_trap_handler_64:
    lea ubp_trap_handler_64(%rip), %r12
    mov %rdx, %rbx
    mov 8(%rsi), %eax
    cmp $TRAP_BRKPT, %eax
    je 19f
    cmp $TRAP_TRACE, %eax
    je 8f
    # A watchpoint of the tracer: the access is made, and the thread continues.
    cmp $TRAP_HWBKPT, %eax
    je 10f
    cmp $SI_KERNEL, %eax
    jne 9f
    # r14: the site. si_addr holds it where the tracer has moved the pc to the site; otherwise the pc is behind it.
    mov 16(%rsi), %r14
    test %r14, %r14
    jnz 1f
    mov RIP(%rbx), %r14
    dec %r14
1:  sub $16, %rsp
    mov %rsi, 8(%rsp)
    mov $LOOKS, %ebp
11: lea ARENAS(%r12), %r15
    xor %r13d, %r13d
2:  # The next arena: rsi; ecx: capacity, edx: words of the index, rdi: entries, rax: slots.
    mov (%r15), %rsi
    add $8, %r15
    test %rsi, %rsi
    jz 5f
    mov 16(%rsi), %ecx
    mov 20(%rsi), %edx
    lea 127(,%rdx,4), %rdi
    and $-64, %rdi
    add %rsi, %rdi
    mov %rcx, %rax
    shl $5, %rax
    add %rdi, %rax
    # Is the thread in a slot? Then the instruction is done, and the thread continues behind it.
    mov %r14, %r8
    sub %rax, %r8
    jb 3f
    shr $5, %r8
    cmp %rcx, %r8
    jae 3f
    shl $5, %r8
    add %rdi, %r8
    movzbl 24(%r8), %eax
    add (%r8), %rax
    mov %rax, RIP(%rbx)
    add $16, %rsp
    ret
3:  # The entry of the site, by the index (core/index.rs).
    movabs $0x9e3779b97f4a7c15, %rax
    imul %r14, %rax
    shr $32, %rax
    imul %rdx, %rax
    shr $32, %rax
    mov %edx, %r9d
4:  mov 64(%rsi,%rax,4), %r10d
    sub $1, %r10
    jb 2b
    cmp %rcx, %r10
    jae 2b
    shl $5, %r10
    add %rdi, %r10
    cmp %r14, (%r10)
    je 12f
    inc %eax
    lea -1(%rdx), %r11d
    and %r11d, %eax
    dec %r9d
    jnz 4b
    jmp 2b
12: # r10: the entry. Where it is marked, a jump covers the site, and the thread continues in the slot (space/answers.rs).
    cmpb $0, 26(%r10)
    je 15f
    shl $5, %rcx
    add %r10, %rcx
    mov %rcx, RIP(%rbx)
    add $16, %rsp
    ret
15: # r13: the entry, if there is one. A breakpoint instruction of the program's own is its own matter.
    cmpb $0xcc, 8(%r10)
    cmovne %r10, %r13
5:  # r15: openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC)
    mov $257, %eax
    mov $-100, %rdi
    lea 7f(%rip), %rsi
    mov $02000002, %edx
    syscall
    test %eax, %eax
    js 13f
    mov %eax, %r15d
    # Does a breakpoint instruction still stand there? pread64
    movb $0, (%rsp)
    mov $17, %eax
    mov %r15d, %edi
    mov %rsp, %rsi
    mov $1, %edx
    mov %r14, %r10
    syscall
    xor %eax, %eax
    cmpb $0xcc, (%rsp)
    jne 6f
    # The instruction is ours only where the site is active (1): pwrite64
    mov $-1, %eax
    test %r13, %r13
    jz 6f
    cmpb $1, 25(%r13)
    jne 6f
    mov $18, %eax
    mov %r15d, %edi
    lea 8(%r13), %rsi
    mov $1, %edx
    mov %r14, %r10
    syscall
6:  mov %eax, %r13d
    # close
    mov $3, %eax
    mov %r15d, %edi
    syscall
    test %r13d, %r13d
    jns 14f
    dec %ebp
    jnz 11b
13: mov 8(%rsp), %rsi
    add $16, %rsp
    jmp 9f
14: mov %r14, RIP(%rbx)
    add $16, %rsp
    ret
7:  .asciz "/proc/self/mem"
19: # int1 is the program's. Where the thread is at the beginning of a page, the byte before may not be there.
    mov RIP(%rbx), %r14
    test $0xfff, %r14d
    jz 9f
    cmpb $0xf1, -1(%r14)
    je 9f
8:  # The tracer began this step: the thread continues. The kernel shows the program's own trap flag.
    testl $0x100, EFLAGS(%rbx)
    jnz 9f
10: ret
9:  # The trap is not ours.
    mov $5, %ebp
    lea FORMER_TRAP(%r12), %r15
16: # The signal is ebp, its siginfo rsi, and the program's action lies at r15. Its handler runs in the place of this one, with the mask that
    # it would have without this one, which blocks all signals: rt_sigprocmask(SIG_SETMASK)
    cmpq $0, (%r15)
    je 17f
    mov %rsi, %r14
    mov SIGMASK(%rbx), %rax
    or SA_MASK(%r15), %rax
    testl $SA_NODEFER, SA_FLAGS(%r15)
    jnz 18f
    lea -1(%rbp), %ecx
    bts %rcx, %rax
18: push %rax
    mov $14, %eax
    mov $2, %edi
    mov %rsp, %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    pop %rax
    mov %ebp, %edi
    mov %r14, %rsi
    mov %rbx, %rdx
    xor %eax, %eax
    jmp *(%r15)
17: # Reset the default action and raise the signal, which arrives when this handler returns.
    # rt_sigaction, getpid, gettid, tgkill
    mov $13, %eax
    mov %ebp, %edi
    lea DEFAULT(%r12), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $39, %eax
    syscall
    mov %eax, %r13d
    mov $186, %eax
    syscall
    mov %eax, %esi
    mov %r13d, %edi
    mov %ebp, %edx
    mov $234, %eax
    syscall
    ret

# handler(signal, siginfo: rsi, ucontext: rdx), for a branch to the last byte of a jump, and for code of a jump that reads
# memory. The thread continues in the slot of the entry for the pc, which is marked (space/answers.rs).
ubp_trap_handler_64_of_jumps:
    lea ubp_trap_handler_64(%rip), %r12
    mov %rdx, %rbx
    mov (%rsi), %ebp
    # An instruction raised the signal where si_code is positive.
    cmpl $0, 8(%rsi)
    jle 27f
    mov RIP(%rbx), %r14
    lea ARENAS(%r12), %r15
22: # The next arena: r8; ecx: capacity, edx: words of the index, rdi: entries.
    mov (%r15), %r8
    add $8, %r15
    test %r8, %r8
    jz 27f
    mov 16(%r8), %ecx
    mov 20(%r8), %edx
    lea 127(,%rdx,4), %rdi
    and $-64, %rdi
    add %r8, %rdi
    # The entry, by the index (core/index.rs): r10.
    movabs $0x9e3779b97f4a7c15, %rax
    imul %r14, %rax
    shr $32, %rax
    imul %rdx, %rax
    shr $32, %rax
    mov %edx, %r9d
24: mov 64(%r8,%rax,4), %r10d
    sub $1, %r10
    jb 22b
    cmp %rcx, %r10
    jae 22b
    shl $5, %r10
    add %rdi, %r10
    cmp %r14, (%r10)
    je 25f
    inc %eax
    lea -1(%rdx), %r11d
    and %r11d, %eax
    dec %r9d
    jnz 24b
    jmp 22b
25: cmpb $0, 26(%r10)
    je 22b
    shl $5, %rcx
    add %r10, %rcx
    mov %rcx, RIP(%rbx)
    ret
27: lea FORMER_UNDEFINED(%r12), %r15
    cmp $4, %ebp
    je 16b
    lea FORMER_SEGMENT(%r12), %r15
    cmp $11, %ebp
    je 16b
    lea FORMER_BUS(%r12), %r15
    jmp 16b

# rt_sigreturn
ubp_trap_handler_64_restorer:
    mov $15, %eax
    syscall

# A system call for the tracer. Where the tracer is gone when the call ends, the thread continues as before: rsp points to its
# signal mask and its registers (way_back.rs). rt_sigprocmask(SIG_SETMASK)
ubp_trap_handler_64_gate:
    syscall
    mov $14, %eax
    mov $2, %edi
    mov %rsp, %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    pop %rax
    pop %rax
    pop %rbx
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rbp
    pop %r8
    pop %r9
    pop %r10
    pop %r11
    pop %r12
    pop %r13
    pop %r14
    pop %r15
    popfq
    ret $128
ubp_trap_handler_64_end:
    .popsection
