// SPDX-License-Identifier: GPL-2.0
/*
 * What ftrace has functions of the kernel call first (register_ftrace_direct): code that keeps the arguments of the function, as
 * samples/ftrace/ftrace-direct.c does. Its address is even: ftrace marks a jump, in place of a call, by an odd one.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "../../shim.h"

#define DIRECT(name, function)				\
	asm(						\
		".pushsection .text, \"ax\", @progbits\n" \
		".p2align 4\n"				\
		".type " name ", @function\n"		\
		".globl " name "\n"			\
		name ":\n"				\
		ASM_ENDBR				\
		"pushq %rbp\n"				\
		"movq %rsp, %rbp\n"			\
		CALL_DEPTH_ACCOUNT			\
		"pushq %rdi\n"				\
		"pushq %rsi\n"				\
		"pushq %rdx\n"				\
		"call " function "\n"			\
		"popq %rdx\n"				\
		"popq %rsi\n"				\
		"popq %rdi\n"				\
		"leave\n"				\
		ASM_RET					\
		".size " name ", .-" name "\n"		\
		".popsection\n")

DIRECT("ntrace_direct_syscall_entry", "ntrace_syscall_entering");
DIRECT("ntrace_direct_syscall_exit", "ntrace_syscall_leaving");
DIRECT("ntrace_direct_signals", "ntrace_signals_looked_for");
