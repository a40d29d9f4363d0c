// SPDX-License-Identifier: GPL-2.0
/* Numbers of arm64 that Rust takes from C, as those of layout.c. */
#include <linux/elf.h>
#include <linux/kbuild.h>
#include <linux/mman.h>
#include <linux/ptrace.h>
#include <linux/uprobes.h>

#include "trap.h"

void ntrace_layout(void);

void ntrace_layout(void)
{
	DEFINE(NTRACE_MACHINE, EM_AARCH64);
	DEFINE(NTRACE_BREAKPOINT_INSTRUCTION, (u64)NTRACE_BREAKPOINT_INSTRUCTION);
	DEFINE(NTRACE_UPROBE_INSTRUCTION, (u64)BRK64_OPCODE_UPROBES);
	DEFINE(NTRACE_GUARDED, PROT_BTI);

	DEFINE(NTRACE_GENERAL_SIZE, sizeof(struct user_pt_regs));
	OFFSET(NTRACE_PT_REGS_GENERAL, pt_regs, regs);
	OFFSET(NTRACE_PT_REGS_SP, pt_regs, sp);
	OFFSET(NTRACE_PT_REGS_PC, pt_regs, pc);
	OFFSET(NTRACE_PT_REGS_PSTATE, pt_regs, pstate);
	OFFSET(NTRACE_USER_PT_REGS_PC, user_pt_regs, pc);
}
