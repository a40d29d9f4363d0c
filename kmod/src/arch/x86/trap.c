// SPDX-License-Identifier: GPL-2.0
/* Breakpoint traps. In C for the notifiers' structures and inline functions of registers. */
#include <linux/kdebug.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <linux/uaccess.h>
#include <asm/mmu.h>
#include <asm/msr.h>
#include <asm/pgtable.h>
#include <asm/processor.h>
#include <asm/unistd.h>

#include "../../shim.h"

/*
 * orig_ax is -1 in the frame of every trap. The kernel takes its lower half for the number of a system call, so that half stays -1. The upper
 * half keeps what is pending for the return to user mode. A program or its tracer can forge it, and misleads its own thread alone.
 */
static bool is_trap(const struct pt_regs *registers)
{
	return lower_32_bits(registers->orig_ax) == U32_MAX;
}

int ntrace_trap_pending(const struct pt_regs *registers)
{
	return is_trap(registers) ? (u16)~upper_32_bits(registers->orig_ax) : 0;
}

void ntrace_trap_set_pending(struct pt_regs *registers, int pending)
{
	if (is_trap(registers))
		registers->orig_ax = ~((unsigned long)pending << 32);
}

bool ntrace_trap_is_clone(const struct pt_regs *registers)
{
	long number = registers->orig_ax;

	BUILD_BUG_ON(__NR_clone3 != __NR_ia32_clone3 || __NR_clone + 1 != __NR_fork || __NR_fork + 1 != __NR_vfork);
	if (number == __NR_clone3)
		return true;
	if (user_64bit_mode((struct pt_regs *)registers))
		return number >= __NR_clone && number <= __NR_vfork;
	return number == __NR_ia32_fork || number == __NR_ia32_vfork || number == __NR_ia32_clone;
}

/* Makes the registers behind a system call those of its instruction. The kernel continues some calls by another one. */
void ntrace_trap_call_again(struct pt_regs *registers, bool is_continued)
{
	/* syscall, sysenter and int 0x80 have two bytes. */
	registers->ip -= 2;
	registers->ax = registers->orig_ax;
	if (is_continued)
		registers->ax = in_ia32_syscall() ? __NR_ia32_restart_syscall : __NR_restart_syscall;
}

static int before_uprobes(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;
	struct pt_regs *registers = args->regs;
	int hit;

	if (!registers || !user_mode(registers) || !current->mm)
		return NOTIFY_DONE;
	if (event == DIE_DEBUG)
		ntrace_trap_set_pending(registers, NTRACE_OTHERS);
	if (event != DIE_INT3)
		return NOTIFY_DONE;
	if (!ntrace_is_traced(current->mm)) {
		ntrace_trap_set_pending(registers, NTRACE_OTHERS);
		return NOTIFY_DONE;
	}
	pagefault_disable();
	hit = ntrace_hit(registers, current->mm);
	pagefault_enable();
	if (hit == NTRACE_PASSED || (hit == NTRACE_UPROBE && ntrace_hand_to_uprobes(registers)))
		return NOTIFY_STOP;
	if (hit != NTRACE_FOREIGN && hit != NTRACE_UPROBE) {
		ntrace_trap_set_pending(registers, hit);
		set_thread_flag(TIF_UPROBE);
		return NOTIFY_STOP;
	}
	ntrace_trap_hand(registers);
	return NOTIFY_DONE;
}

/* Called for traps that uprobes have not handled. */
static int after_uprobes(struct notifier_block *self, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (args->regs && user_mode(args->regs) && (event == DIE_INT3 || event == DIE_DEBUG))
		if (ntrace_trap_kind(args->regs) == NTRACE_OTHERS)
			ntrace_trap_finish(args->regs);
	return NOTIFY_DONE;
}

/* The notifier of uprobes has a priority between these two. */
static struct notifier_block first = { .notifier_call = before_uprobes, .priority = INT_MAX };
static struct notifier_block last = { .notifier_call = after_uprobes, .priority = INT_MIN };

int ntrace_trap_init(void)
{
	int error = register_die_notifier(&last);

	if (error)
		return error;
	error = register_die_notifier(&first);
	if (error)
		unregister_die_notifier(&last);
	return error;
}

void ntrace_trap_exit(void)
{
	unregister_die_notifier(&first);
	unregister_die_notifier(&last);
}

/* Whether a memory is that of a 32-bit program. The flag was made for uprobes. */
bool ntrace_memory_is_narrow(const struct mm_struct *mm)
{
	return IS_ENABLED(CONFIG_IA32_EMULATION) && (mm->context.flags & BIT(MM_CONTEXT_UPROBE_IA32));
}

bool ntrace_cpu_is_amd(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD || boot_cpu_data.x86_vendor == X86_VENDOR_HYGON;
}

unsigned long ntrace_cpu_address_bits(void)
{
	return pgtable_l5_enabled() ? 57 : 48;
}

/* The base of fs or gs of the current thread. In the kernel the program's gs base is in the other register. */
unsigned long ntrace_base(bool gs)
{
	return native_read_msr(gs ? MSR_KERNEL_GS_BASE : MSR_FS_BASE);
}
