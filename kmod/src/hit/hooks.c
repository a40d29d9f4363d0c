// SPDX-License-Identifier: GPL-2.0
/*
 * Where the kernel is hooked: a thread's way to user mode, forks, signals, and stops for a tracer. In C for tracepoints, ftrace and inline
 * functions of threads.
 *
 * A thread whose TIF_UPROBE is set calls uprobe_notify_resume on its way to user mode, where it may sleep. That is diverted,
 * unless uprobes themselves wait for it.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/signal.h>
#include <linux/tracepoint.h>
#include <linux/uprobes.h>

#include "../shim.h"

#ifdef CONFIG_PREEMPT_RT
#error "Locks are taken where nothing may sleep, which those of PREEMPT_RT do."
#endif

/* As force_sig_fault does, which is not exported: who blocks or ignores the signal dies of it. */
void ntrace_raise_sigtrap(const struct pt_regs *registers, int code)
{
	struct kernel_siginfo info;
	sigset_t trap;

	siginitset(&trap, sigmask(SIGTRAP));
	if (sigismember(&current->blocked, SIGTRAP) || current->sighand->action[SIGTRAP - 1].sa.sa_handler == SIG_IGN)
		kernel_sigaction(SIGTRAP, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &trap, NULL);
	clear_siginfo(&info);
	info.si_signo = SIGTRAP;
	info.si_code = code;
	info.si_addr = (void __user *)instruction_pointer((struct pt_regs *)registers);
	send_sig_info(SIGTRAP, &info, current);
}

/* As uprobe_pre_sstep_notifier does, which is not exported. What is no uprobe either raises the signal there. */
bool ntrace_hand_to_uprobes(struct pt_regs *registers)
{
	ntrace_trap_set_pending(registers, NTRACE_OTHERS);
	/* Who leaves uprobes has waited for those that are marked, and is seen by those that are not yet. */
	smp_mb();
	if (ntrace_uprobes_pending()) {
		ntrace_trap_set_pending(registers, NTRACE_AGAIN);
	} else if (!ntrace_uprobes_used(current->mm)) {
		ntrace_trap_set_pending(registers, 0);
		return false;
	}
	set_thread_flag(TIF_UPROBE);
	return true;
}

static void way_to_user(struct pt_regs *registers)
{
	int left = ntrace_trap_pending(registers);

	__module_get(THIS_MODULE);
	clear_thread_flag(TIF_UPROBE);
	ntrace_trap_set_pending(registers, 0);
	ntrace_uprobes_flush();
	ntrace_first_return(registers, current->mm);
	if (left >= NTRACE_LATER) {
		left = ntrace_hit_sleeping(registers, current->mm, left - NTRACE_LATER);
		/* Signals come before uprobes now: whose trap it is gets it when the thread runs into it once more. */
		if (left == NTRACE_FOREIGN || left == NTRACE_UPROBE)
			ntrace_hit_again(registers, current->mm);
	}
	if (left == NTRACE_SINGLE_STEP)
		ntrace_raise_sigtrap(registers, TRAP_TRACE);
	/* Uprobes are to have it first that is in a place of theirs. */
	if (!(current->utask && current->utask->active_uprobe))
		ntrace_take_requests(registers, current->mm);
	module_put(THIS_MODULE);
}

static void notrace divert(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *registers = (struct pt_regs *)ftrace_regs_get_argument(fregs, 0);
	const struct uprobe_task *utask = current->utask;

	/* Uprobes wait for a trap of theirs, once, or for the end of a step, which is not to be taken for ended before. */
	if (ntrace_trap_pending(registers) == NTRACE_OTHERS || (utask && utask->active_uprobe && utask->state != UTASK_SSTEP)) {
		/* On arm64 what uprobes do not know is run again, and a mark would be taken for a system call. */
		ntrace_trap_set_pending(registers, IS_ENABLED(CONFIG_X86) ? NTRACE_UPROBE : 0);
		/* Whom somebody asks for meanwhile comes by behind it. */
		if (ntrace_is_traced(current->mm))
			set_thread_flag(TIF_NOTIFY_SIGNAL);
		return;
	}
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)way_to_user);
}

static struct ftrace_ops diverted = {
	.func = divert,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

/* The new thread has its memory and has not run. */
static void forked(void *data, struct task_struct *parent, struct task_struct *child)
{
	int called;

	if (!parent->mm || !child->mm)
		return;
	rcu_read_lock();
	if (parent->mm == child->mm)
		called = ntrace_thread_created(child->mm, child);
	else
		called = ntrace_forked(parent->mm, child->mm);
	rcu_read_unlock();
	if (called > 0)
		set_tsk_thread_flag(child, TIF_UPROBE);
	else if (called < 0)
		/* Without memory for that it would run into breakpoints that nobody knows. */
		send_sig(SIGKILL, child, 1);
}

/* Whether the processor raised a signal at the instruction that was carried out. */
static bool is_fault(int signal, const struct kernel_siginfo *info)
{
	return sig_specific_sicodes(signal) && signal != SIGCHLD && signal != SIGPOLL && signal != SIGSYS &&
	       SI_FROMKERNEL(info);
}

/*
 * The thread looks for signals, or stops for a tracer: who is told of it is to see the registers, and the address of a fault, as the
 * program has them. Under the lock that the kernel is about to take.
 */
static void notrace seen(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct sigqueue *queued;
	struct pt_regs *registers = task_pt_regs(current);
	void __user *none = NULL, **address = &none;
	int why = NTRACE_STOP;
	unsigned long flags;
	sigset_t told;

	if (!current->mm || (current->flags & PF_USER_WORKER))
		return;
	if (ntrace_trap_pending(registers) == NTRACE_UPROBE)
		ntrace_trap_set_pending(registers, 0);
	spin_lock_irqsave(&current->sighand->siglock, flags);
	sigorsets(&told, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&told, &told, &current->blocked);
	if (!sigisemptyset(&told))
		why = NTRACE_SIGNAL;
	list_for_each_entry(queued, &current->pending.list, list) {
		if (queued->info.si_signo == SIGSYS && SI_FROMKERNEL(&queued->info))
			address = &queued->info.si_call_addr;
		if (!is_fault(queued->info.si_signo, &queued->info))
			continue;
		why = NTRACE_FAULT;
		if (queued->info.si_code < SI_KERNEL)
			address = &queued->info.si_addr;
	}
	if (why != NTRACE_STOP || current->ptrace || current->jobctl & (JOBCTL_STOP_PENDING | JOBCTL_TRAP_MASK)) {
		ntrace_atomic_begin();
		*address = ntrace_registers_seen(registers, current->mm, *address, why);
		ntrace_atomic_end();
	}
	spin_unlock_irqrestore(&current->sighand->siglock, flags);
	/* Who was called while uprobes looked at it has not come by. */
	if (current->utask && test_thread_flag(TIF_NOTIFY_SIGNAL))
		set_thread_flag(TIF_UPROBE);
}

static struct ftrace_ops watched = {
	.func = seen,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

/*
 * What a thread gives up right after its memory, on its way to its end: the tracepoint for it comes behind the memory in Linux 6.12, and
 * before it in newer kernels.
 */
static void notrace ends(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (current->flags & PF_EXITING && (void *)ftrace_regs_get_argument(fregs, 0) == current)
		ntrace_exited();
}

static struct ftrace_ops ending = {
	.func = ends,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

static struct hook {
	const char *name;
	void *function;
	struct tracepoint *point;
} hooks[] = {
	{ .name = "sched_process_fork", .function = forked },
	{ .name = "sched_process_exec", .function = ntrace_executed },
};

static void find(struct tracepoint *point, void *data)
{
	for (int i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(point->name, hooks[i].name))
			hooks[i].point = point;
}

static void unhook(int count)
{
	ntrace_ftrace_remove(&watched);
	ntrace_ftrace_remove(&ending);
	while (count--)
		tracepoint_probe_unregister(hooks[count].point, hooks[count].function, NULL);
	tracepoint_synchronize_unregister();
}

int ntrace_hooks_init(void)
{
	char way[] = "uprobe_notify_resume", signals[] = "get_signal", stops[] = "ptrace_notify", files[] = "exit_files";
	int error = 0, count = 0;

	for_each_kernel_tracepoint(find, NULL);
	for (; count < ARRAY_SIZE(hooks) && !error; count += !error) {
		error = -ENOENT;
		if (hooks[count].point)
			error = tracepoint_probe_register(hooks[count].point, hooks[count].function, NULL);
		if (error)
			pr_err("ntrace: no %s: %d\n", hooks[count].name, error);
	}
	error = error ?: ntrace_ftrace_add(&diverted, way) ?: ntrace_ftrace_add(&watched, signals) ?:
		ntrace_ftrace_add(&watched, stops) ?: ntrace_ftrace_add(&ending, files) ?: ntrace_uprobes_init() ?: ntrace_trap_init();
	if (error) {
		ntrace_uprobes_exit();
		unhook(count);
		ntrace_ftrace_remove(&diverted);
	}
	return error;
}

/* No file is open, so that no process has breakpoints; one that was forked with some may not have run yet. */
void ntrace_hooks_exit(void)
{
	ntrace_uprobes_exit();
	unhook(ARRAY_SIZE(hooks));
	/* Who has the flag yet comes by as ever, until nobody has. */
	ntrace_threads_clear();
	ntrace_trap_exit();
	ntrace_ftrace_remove(&diverted);
	synchronize_rcu_tasks();
}
