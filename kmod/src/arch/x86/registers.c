// SPDX-License-Identifier: GPL-2.0
/* Numbers of x86 that Rust takes from C, as those of layout.c. */
#include <linux/elf.h>
#include <linux/kbuild.h>
#include <linux/ptrace.h>
#include <linux/uprobes.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/user.h>
#include <asm/user32.h>

void ntrace_layout(void);

void ntrace_layout(void)
{
	DEFINE(NTRACE_MACHINE, EM_X86_64);
	DEFINE(NTRACE_UPROBE_INSTRUCTION, UPROBE_SWBP_INSN);
	DEFINE(NTRACE_GENERAL_SIZE, sizeof(struct user_regs_struct));
	DEFINE(NTRACE_GENERAL32_SIZE, sizeof(struct user_regs_struct32));
	OFFSET(NTRACE_GENERAL32_IP, user_regs_struct32, eip);
	DEFINE(NTRACE_USER32_CS, __USER32_CS);
	DEFINE(NTRACE_TRAP_FLAG, X86_EFLAGS_TF);

	DEFINE(NTRACE_PT_REGS_SIZE, sizeof(struct pt_regs));
	OFFSET(NTRACE_PT_REGS_AX, pt_regs, ax);
	OFFSET(NTRACE_PT_REGS_CX, pt_regs, cx);
	OFFSET(NTRACE_PT_REGS_DX, pt_regs, dx);
	OFFSET(NTRACE_PT_REGS_BX, pt_regs, bx);
	OFFSET(NTRACE_PT_REGS_SP, pt_regs, sp);
	OFFSET(NTRACE_PT_REGS_BP, pt_regs, bp);
	OFFSET(NTRACE_PT_REGS_SI, pt_regs, si);
	OFFSET(NTRACE_PT_REGS_DI, pt_regs, di);
	OFFSET(NTRACE_PT_REGS_R8, pt_regs, r8);
	OFFSET(NTRACE_PT_REGS_R9, pt_regs, r9);
	OFFSET(NTRACE_PT_REGS_R10, pt_regs, r10);
	OFFSET(NTRACE_PT_REGS_R11, pt_regs, r11);
	OFFSET(NTRACE_PT_REGS_R12, pt_regs, r12);
	OFFSET(NTRACE_PT_REGS_R13, pt_regs, r13);
	OFFSET(NTRACE_PT_REGS_R14, pt_regs, r14);
	OFFSET(NTRACE_PT_REGS_R15, pt_regs, r15);
	OFFSET(NTRACE_PT_REGS_ORIG_AX, pt_regs, orig_ax);
	OFFSET(NTRACE_PT_REGS_IP, pt_regs, ip);
	OFFSET(NTRACE_PT_REGS_CS, pt_regs, cs);
	OFFSET(NTRACE_PT_REGS_FLAGS, pt_regs, flags);
	OFFSET(NTRACE_PT_REGS_SS, pt_regs, ss);
}
