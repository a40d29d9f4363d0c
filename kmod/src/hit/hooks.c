// SPDX-License-Identifier: GPL-2.0
/*
 * Hooks in the kernel: the return to user mode, forks, signals, and stops for a tracer. In C for tracepoints, ftrace and inline functions
 * of threads.
 *
 * A thread with TIF_UPROBE calls uprobe_notify_resume when it returns to user mode, where it may sleep. ftrace redirects that call to
 * before_user_mode, unless uprobes themselves need it.
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
#error "ntrace takes locks where a thread must not sleep; with PREEMPT_RT these locks sleep."
#endif

/* Sends SIGTRAP as force_sig_fault does, which is not exported: a process that blocks or ignores the signal dies. */
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

/*
 * Hands a trap to uprobes, as uprobe_pre_sstep_notifier does, which is not exported. If the trap is not of a uprobe either, uprobes raise the
 * signal. Returns false if the process has no uprobes.
 */
bool ntrace_hand_to_uprobes(struct pt_regs *registers)
{
	ntrace_trap_hand(registers);
	/* A change of uprobes either waits for this thread (Handed::drain), or began before, and is seen here as pending. */
	smp_mb();
	if (ntrace_uprobes_pending(current->mm)) {
		ntrace_trap_finish(registers);
		ntrace_trap_set_pending(registers, NTRACE_AGAIN);
	} else if (!ntrace_uprobes_used(current->mm)) {
		ntrace_trap_finish(registers);
		return false;
	}
	set_thread_flag(TIF_UPROBE);
	return true;
}

int ntrace_trap_kind(const struct pt_regs *registers)
{
	return ntrace_trap_pending(registers) % NTRACE_TURN;
}

/* Leaves the trap of the current thread to others, until ntrace_trap_finish. */
void ntrace_trap_hand(struct pt_regs *registers)
{
	ntrace_trap_set_pending(registers, NTRACE_OTHERS + NTRACE_TURN * ntrace_handed(current->mm));
}

/* Nothing is pending any more for the return of the current thread to user mode. Returns what was. */
int ntrace_trap_finish(struct pt_regs *registers)
{
	int pending = ntrace_trap_pending(registers);

	if (pending)
		ntrace_trap_set_pending(registers, 0);
	if (pending / NTRACE_TURN)
		ntrace_handed_back(current->mm, pending / NTRACE_TURN);
	return pending % NTRACE_TURN;
}

/* Called on the return to user mode in place of uprobe_notify_resume. */
static void before_user_mode(struct pt_regs *registers)
{
	int pending = ntrace_trap_finish(registers);
	unsigned long changes = 0;

	ntrace_enter();
	clear_thread_flag(TIF_UPROBE);
	ntrace_uprobes_flush();
	ntrace_first_return(registers, current->mm);
	ntrace_thread_returns();
	if (pending >= NTRACE_LATER) {
		pending = ntrace_hit_sleeping(registers, current->mm, pending - NTRACE_LATER, &changes);
		/* Signals are handled before uprobes here, so the thread traps again for whoever the trap belongs to. */
		if (pending == NTRACE_FOREIGN || pending == NTRACE_UPROBE)
			ntrace_hit_again(registers, current->mm, pending, changes);
	}
	if (pending == NTRACE_SINGLE_STEP)
		ntrace_raise_sigtrap(registers, TRAP_TRACE);
	/* Uprobes go first for a thread in a uprobe's slot. */
	if (!(current->utask && current->utask->active_uprobe))
		ntrace_take_requests(registers, current->mm);
	ntrace_watched(registers, current->mm);
	ntrace_leave();
}

static void notrace redirect(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *registers = (struct pt_regs *)ftrace_regs_get_argument(fregs, 0);
	const struct uprobe_task *utask = current->utask;

	/* Uprobes need the call after a trap of theirs, once, and at the end of a step, which a call before would end too early. */
	if (ntrace_trap_kind(registers) == NTRACE_OTHERS || (utask && utask->active_uprobe && utask->state != UTASK_SSTEP)) {
		/* On arm64 a trap that uprobes do not know runs again, and a mark would be taken for a system call. */
		if (IS_ENABLED(CONFIG_X86))
			ntrace_trap_set_pending(registers, ntrace_trap_pending(registers) / NTRACE_TURN * NTRACE_TURN + NTRACE_UPROBE);
		else
			ntrace_trap_finish(registers);
		/* Has `seen` set TIF_UPROBE again, for requests that come meanwhile. */
		if (ntrace_is_traced(current->mm))
			set_thread_flag(TIF_NOTIFY_SIGNAL);
		return;
	}
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)before_user_mode);
}

static struct ftrace_ops redirection = {
	.func = redirect,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

/* Tracepoint: the new thread has its memory and has not run. */
static void forked(void *data, struct task_struct *parent, struct task_struct *child)
{
	int notify;

	if (!parent->mm || !child->mm)
		return;
	rcu_read_lock();
	if (parent->mm == child->mm) {
		ntrace_thread_made(child);
		notify = ntrace_thread_created(child->mm, child);
	} else
		notify = ntrace_forked(parent->mm, child->mm);
	rcu_read_unlock();
	if (notify > 0)
		set_tsk_thread_flag(child, TIF_UPROBE);
	else if (notify < 0)
		/* Without memory for its table entry, the child would run into breakpoints that nobody handles. */
		send_sig(SIGKILL, child, 1);
}

/* Whether the processor raised a signal at an instruction. */
static bool is_fault(int signal, const struct kernel_siginfo *info)
{
	return sig_specific_sicodes(signal) && signal != SIGCHLD && signal != SIGPOLL && signal != SIGSYS &&
	       SI_FROMKERNEL(info);
}

/* Uprobes have handled the current thread's trap, if there was one. */
static void notrace let_uprobes_end(struct pt_regs *registers)
{
	if (ntrace_trap_kind(registers) == NTRACE_UPROBE)
		ntrace_trap_finish(registers);
}

/*
 * The current thread looks for signals or stops for a tracer. Handlers and tracers see its registers and the address of a fault as the
 * program has them. The kernel is about to take the lock that is taken here.
 */
static void notrace be_seen(void)
{
	struct sigqueue *queued;
	struct pt_regs *registers = task_pt_regs(current);
	void __user *none = NULL, **address = &none;
	int why = NTRACE_STOP;
	unsigned long flags;
	sigset_t told;

	if (!current->mm || (current->flags & PF_USER_WORKER))
		return;
	let_uprobes_end(registers);
	if (!ntrace_is_traced(current->mm))
		goto notified;
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
notified:
	/* A request may have come while uprobes had the thread, whose flag they clear. */
	if (current->utask && test_thread_flag(TIF_NOTIFY_SIGNAL))
		set_thread_flag(TIF_UPROBE);
}

static void notrace stops(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	be_seen();
}

/* Called when the current thread looks for signals. It may sleep. */
void ntrace_signals_looked_for(void)
{
	if (!current->mm || (current->flags & PF_USER_WORKER))
		return;
	if (!ntrace_is_traced(current->mm)) {
		let_uprobes_end(task_pt_regs(current));
		return;
	}
	preempt_disable();
	be_seen();
	preempt_enable();
	if (!task_sigpending(current) || !ntrace_wants_signals(current->mm))
		return;
	ntrace_enter();
	ntrace_signals(task_pt_regs(current), current->mm);
	ntrace_leave();
}

static struct ftrace_ops looking;
static struct ntrace_name looks[] = { { "get_signal" }, { "" } };

static struct ftrace_ops seeing = {
	.func = stops,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

/*
 * Called for exit_files: an ending thread gives its files up right after its memory. The tracepoint of an exit comes after that in Linux
 * 6.12, and before it in newer kernels.
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
	ntrace_direct_remove(&looking, (unsigned long)ntrace_direct_signals);
	ntrace_syscalls_exit();
	ntrace_ftrace_remove(&seeing);
	ntrace_ftrace_remove(&ending);
	while (count--)
		tracepoint_probe_unregister(hooks[count].point, hooks[count].function, NULL);
	tracepoint_synchronize_unregister();
}

static int add_looking(void)
{
	int error = ntrace_direct_add(&looking, looks, (unsigned long)ntrace_direct_signals);

	if (error)
		pr_err("ntrace: no %s: %d\n", looks->text, error);
	return error;
}

int ntrace_hooks_init(void)
{
	char returns[] = "uprobe_notify_resume", notices[] = "ptrace_notify", files[] = "exit_files";
	int error = 0, count = 0;

	for_each_kernel_tracepoint(find, NULL);
	for (; count < ARRAY_SIZE(hooks) && !error; count += !error) {
		error = -ENOENT;
		if (hooks[count].point)
			error = tracepoint_probe_register(hooks[count].point, hooks[count].function, NULL);
		if (error)
			pr_err("ntrace: no %s: %d\n", hooks[count].name, error);
	}
	error = error ?: ntrace_ftrace_add(&redirection, returns) ?: add_looking() ?: ntrace_ftrace_add(&seeing, notices) ?:
		ntrace_ftrace_add(&ending, files) ?: ntrace_uprobes_init() ?: ntrace_trap_init();
	if (!error)
		ntrace_syscalls_init();
	if (error) {
		ntrace_uprobes_exit();
		unhook(count);
		ntrace_ftrace_remove(&redirection);
		ntrace_ftrace_wait();
	}
	return error;
}

/* No process has breakpoints. */
void ntrace_hooks_exit(void)
{
	ntrace_uprobes_exit();
	unhook(ARRAY_SIZE(hooks));
	/* What a thread does for a debuggee may set the flag once more. */
	ntrace_ftrace_wait();
	/* Threads with the flag are still redirected until it is cleared. */
	ntrace_threads_clear();
	ntrace_trap_exit();
	ntrace_ftrace_remove(&redirection);
	ntrace_ftrace_wait();
}
