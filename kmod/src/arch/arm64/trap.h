/* SPDX-License-Identifier: GPL-2.0 */
/* The breakpoint instruction, `brk #0x7562`. */
#ifndef NTRACE_TRAP_H
#define NTRACE_TRAP_H

#include <asm/insn-def.h>

#define NTRACE_BREAKPOINT_IMMEDIATE 0x7562
#define NTRACE_BREAKPOINT_INSTRUCTION (AARCH64_BREAK_MON | (NTRACE_BREAKPOINT_IMMEDIATE << 5))

#endif
