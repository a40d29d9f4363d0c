// SPDX-License-Identifier: GPL-2.0
/*
 * Breakpoint traps. In C for ftrace and macros of exception syndromes. The kernel calls no notifier for breakpoint instructions of user
 * mode, so ftrace redirects the function that handles them. It may sleep. The module's breakpoint instructions have their own immediate.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <asm/debug-monitors.h>
#include <asm/esr.h>
#include <asm/insn.h>
#include <asm/unistd.h>

#include "../../shim.h"
#include "trap.h"

/*
 * syscallno is -1 in the frame of every exception. Some numbers that are none of a system call keep what is pending for the return to user
 * mode, in their lower half. A program can forge them, and misleads its own thread alone.
 */
enum { PENDING = 0xb29c0000 };

static bool is_pending(const struct pt_regs *registers)
{
	return (registers->syscallno & 0xffff0000) == PENDING;
}

int ntrace_trap_pending(const struct pt_regs *registers)
{
	return is_pending(registers) ? (u16)registers->syscallno : 0;
}

void ntrace_trap_set_pending(struct pt_regs *registers, int pending)
{
	if (registers->syscallno == NO_SYSCALL || is_pending(registers))
		registers->syscallno = pending ? PENDING | pending : NO_SYSCALL;
}

bool ntrace_trap_is_clone(const struct pt_regs *registers)
{
	return registers->syscallno == __NR_clone || registers->syscallno == __NR_clone3;
}

/* Makes the registers behind a system call those of its instruction. The kernel continues some calls by another one. */
void ntrace_trap_call_again(struct pt_regs *registers, bool is_continued)
{
	registers->pc -= AARCH64_INSN_SIZE;
	registers->regs[0] = registers->orig_x0;
	if (is_continued)
		registers->regs[8] = __NR_restart_syscall;
}

/* Whether the breakpoint instruction is gone. The thread then runs the program's own instruction. */
static bool is_gone(const struct pt_regs *registers)
{
	u32 word;

	return copy_from_user_nofault(&word, (const void __user *)registers->pc, sizeof(word)) ||
	       le32_to_cpu(word) != NTRACE_BREAKPOINT_INSTRUCTION;
}

static void trapped(unsigned long esr, struct pt_regs *registers)
{
	unsigned long changes;
	int hit;

	ntrace_atomic_begin();
	hit = ntrace_hit(registers, current->mm);
	ntrace_atomic_end();
	if (hit >= NTRACE_LATER) {
		/* Hits that do not sleep do without this, for which all processors would write to one counter. */
		ntrace_enter();
		hit = ntrace_hit_sleeping(registers, current->mm, hit - NTRACE_LATER, &changes);
		ntrace_leave();
	}
	if (hit == NTRACE_UPROBE && !ntrace_hand_to_uprobes(registers))
		hit = NTRACE_FOREIGN;
	if (hit == NTRACE_SINGLE_STEP || (hit == NTRACE_FOREIGN && !is_gone(registers)))
		ntrace_raise_sigtrap(registers, hit == NTRACE_FOREIGN ? TRAP_BRKPT : TRAP_TRACE);
}

static void notrace divert(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned long esr = ftrace_regs_get_argument(fregs, 0);
	struct pt_regs *registers = (struct pt_regs *)ftrace_regs_get_argument(fregs, 1);

	if (esr_brk_comment(esr) == NTRACE_BREAKPOINT_IMMEDIATE)
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)trapped);
	else if (esr_brk_comment(esr) == UPROBES_BRK_IMM)
		ntrace_trap_hand(registers);
}

static struct ftrace_ops diverted = {
	.func = divert,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

int ntrace_trap_init(void)
{
	char name[] = "do_el0_brk64";
	int error = ntrace_ftrace_add(&diverted, name);

	if (error)
		ntrace_trap_exit();
	return error;
}

void ntrace_trap_exit(void)
{
	ntrace_ftrace_remove(&diverted);
}
