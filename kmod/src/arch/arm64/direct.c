// SPDX-License-Identifier: GPL-2.0
/*
 * What ftrace has functions of the kernel call first (register_ftrace_direct): code that keeps the arguments of the function, as
 * samples/ftrace/ftrace-direct.c does. x30 is the address behind the call in the function, x9 that to which the function returns.
 */
#include "../../shim.h"

#define DIRECT(name, function)				\
	asm(						\
		".pushsection .text, \"ax\", @progbits\n" \
		".type " name ", @function\n"		\
		".globl " name "\n"			\
		name ":\n"				\
		"hint #34\n"				\
		"stp x29, x30, [sp, #-48]!\n"		\
		"mov x29, sp\n"				\
		"stp x9, x0, [sp, #16]\n"		\
		"stp x1, x2, [sp, #32]\n"		\
		"bl " function "\n"			\
		"ldp x1, x2, [sp, #32]\n"		\
		"ldp x9, x0, [sp, #16]\n"		\
		"ldp x29, x10, [sp], #48\n"		\
		"mov x30, x9\n"				\
		"ret x10\n"				\
		".size " name ", .-" name "\n"		\
		".popsection\n")

DIRECT("ntrace_direct_syscall_entry", "ntrace_syscall_entering");
DIRECT("ntrace_direct_syscall_exit", "ntrace_syscall_leaving");
DIRECT("ntrace_direct_signals", "ntrace_signals_looked_for");
