# Handles SIGTRAP in i386 programs when the tracer is gone, as trap_handler_64.s does. See breakpoints/trap_handler.rs.
    .pushsection .rodata.trap_handler_32, "a", @progbits
    .code32
    .set DATA_32, 2048
    .set DEFAULT_32, DATA_32 + 32
    .set ARENAS_32, DATA_32 + 288
    # Of struct ucontext: uc_mcontext.gregs[REG_EIP] and [REG_EFL].
    .set EIP, 76
    .set EFLAGS_32, 84
    .set LOOKS_32, 16
    .globl ubp_trap_handler_32, ubp_trap_handler_32_restorer, ubp_trap_handler_32_gate, ubp_trap_handler_32_end

# handler(signal, siginfo, ucontext), on the stack. In its frame: 0: the page, 4: the site, 8: the next arena, 12: words left of
# the index, 16: the arena, 20: capacity, 24: words of the index, 28: the entries, 32: a byte, 36: looks left.
ubp_trap_handler_32:
    mov 8(%esp), %esi
    mov 12(%esp), %ebp
    sub $40, %esp
    call 1f
1:  pop %eax
    and $-4096, %eax
    mov %eax, 0(%esp)
    mov 8(%esi), %eax
    cmp $1, %eax
    je 19f
    cmp $2, %eax
    je 8f
    cmp $4, %eax
    je 10f
    cmp $0x80, %eax
    jne 9f
    mov 12(%esi), %eax
    test %eax, %eax
    jnz 1f
    mov EIP(%ebp), %eax
    dec %eax
1:  mov %eax, 4(%esp)
    movl $LOOKS_32, 36(%esp)
11: mov 0(%esp), %eax
    add $ARENAS_32, %eax
    mov %eax, 8(%esp)
2:  mov 8(%esp), %eax
    mov (%eax), %esi
    addl $8, 8(%esp)
    mov %esi, 16(%esp)
    test %esi, %esi
    jz 5f
    mov 16(%esi), %ecx
    mov %ecx, 20(%esp)
    mov 20(%esi), %edx
    mov %edx, 24(%esp)
    mov %edx, 12(%esp)
    lea 127(,%edx,4), %edi
    and $-64, %edi
    add %esi, %edi
    mov %edi, 28(%esp)
    mov %ecx, %eax
    shl $5, %eax
    add %edi, %eax
    mov 4(%esp), %ebx
    sub %eax, %ebx
    jb 3f
    shr $5, %ebx
    cmp %ecx, %ebx
    jae 3f
    shl $5, %ebx
    add %edi, %ebx
    movzbl 24(%ebx), %eax
    add (%ebx), %eax
    mov %eax, EIP(%ebp)
    add $40, %esp
    ret
3:  # The high half of the low 64 bits of site × 0x9e3779b97f4a7c15, times the words, its high half.
    mov 4(%esp), %eax
    mov $0x7f4a7c15, %edx
    mul %edx
    mov %edx, %ebx
    imul $0x9e3779b9, 4(%esp), %eax
    add %ebx, %eax
    mull 24(%esp)
    mov 4(%esp), %ebx
4:  mov 16(%esp), %esi
    mov 64(%esi,%edx,4), %eax
    sub $1, %eax
    jb 2b
    cmp 20(%esp), %eax
    jae 2b
    shl $5, %eax
    add 28(%esp), %eax
    cmp %ebx, (%eax)
    je 12f
    inc %edx
    mov 24(%esp), %ecx
    dec %ecx
    and %ecx, %edx
    decl 12(%esp)
    jnz 4b
    jmp 2b
12: # 16: the entry, or 0.
    xor %ecx, %ecx
    cmpb $0xcc, 8(%eax)
    cmove %ecx, %eax
    mov %eax, 16(%esp)
5:  # openat
    mov 0(%esp), %ecx
    add $7f - ubp_trap_handler_32, %ecx
    mov $-100, %ebx
    mov $02000002, %edx
    mov $295, %eax
    int $0x80
    test %eax, %eax
    js 9f
    # 12: the descriptor. pread64
    mov %eax, 12(%esp)
    mov %eax, %ebx
    movb $0, 32(%esp)
    lea 32(%esp), %ecx
    mov $1, %edx
    mov 4(%esp), %esi
    xor %edi, %edi
    mov $180, %eax
    int $0x80
    xor %eax, %eax
    cmpb $0xcc, 32(%esp)
    jne 6f
    mov $-1, %eax
    mov 16(%esp), %ecx
    test %ecx, %ecx
    jz 6f
    cmpb $1, 25(%ecx)
    jne 6f
    # pwrite64
    add $8, %ecx
    mov $181, %eax
    int $0x80
6:  mov %eax, %edi
    # close
    mov 12(%esp), %ebx
    mov $6, %eax
    int $0x80
    test %edi, %edi
    jns 14f
    decl 36(%esp)
    jnz 11b
    jmp 9f
14: mov 4(%esp), %eax
    mov %eax, EIP(%ebp)
    add $40, %esp
    ret
7:  .asciz "/proc/self/mem"
19: mov EIP(%ebp), %eax
    test $0xfff, %eax
    jz 9f
    cmpb $0xf1, -1(%eax)
    je 9f
8:  testl $0x100, EFLAGS_32(%ebp)
    jnz 9f
10: add $40, %esp
    ret
9:  # rt_sigaction, getpid, gettid, tgkill
    mov $5, %ebx
    mov 0(%esp), %ecx
    add $DEFAULT_32, %ecx
    xor %edx, %edx
    mov $8, %esi
    mov $174, %eax
    int $0x80
    mov $20, %eax
    int $0x80
    mov %eax, %ebx
    mov $224, %eax
    int $0x80
    mov %eax, %ecx
    mov $5, %edx
    mov $270, %eax
    int $0x80
    add $40, %esp
    ret

# rt_sigreturn
ubp_trap_handler_32_restorer:
    mov $173, %eax
    int $0x80

# rt_sigprocmask(SIG_SETMASK)
ubp_trap_handler_32_gate:
    int $0x80
    mov $175, %eax
    mov $2, %ebx
    mov %esp, %ecx
    xor %edx, %edx
    mov $8, %esi
    int $0x80
    pop %eax
    pop %eax
    popa
    popf
    ret
ubp_trap_handler_32_end:
    .code64
    .popsection
