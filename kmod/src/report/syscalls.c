// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of debuggees. In C for tracepoints, flags of threads and inline functions of system calls.
 *
 * A thread with the flag SYSCALL_TRACEPOINT calls functions of the kernel at the beginning and at the end of each system call, where it may
 * sleep. ftrace has these functions call the module first. The tracepoints sys_enter and sys_exit use the same flag: their first user sets it
 * for all threads, and their last user clears it for all. The module sets it for the threads of debuggees alone, and no other thread pays.
 * A thread that nobody traces any more clears its flag itself.
 *
 * A thread that has met a breakpoint on a system call has the flag too: it leaves the slot when it begins the call. The kernel decides by the pc
 * whether to make an interrupted call once more, and shows it to signal handlers.
 */
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <asm/syscall.h>

#include "../shim.h"

/* The users of both tracepoints, as the kernel counts them. */
static atomic_t users = ATOMIC_INIT(0);
static struct tracepoint *points[2];

static bool is_used(void)
{
	return atomic_read(&users) > 0;
}

/* Has the current thread tell of its system calls from here on. */
void ntrace_syscalls_this(void)
{
	set_task_syscall_work(current, SYSCALL_TRACEPOINT);
}

/* Has a thread tell of its system calls that has not run. */
void ntrace_syscalls_of(struct task_struct *thread)
{
	set_task_syscall_work(thread, SYSCALL_TRACEPOINT);
}

/* A thread that nobody traces any more gives its flag up. */
static void give_up(void)
{
	if (is_used())
		return;
	clear_task_syscall_work(current, SYSCALL_TRACEPOINT);
	/* A user of the tracepoints that came meanwhile may have set the flag before. */
	smp_mb();
	if (is_used() || ntrace_is_traced(current->mm))
		set_task_syscall_work(current, SYSCALL_TRACEPOINT);
}

/* Takes the flag from a thread that makes no call, because the module goes. */
void ntrace_syscalls_clear(struct task_struct *thread)
{
	if (!is_used())
		clear_task_syscall_work(thread, SYSCALL_TRACEPOINT);
}

/*
 * A system call that the kernel makes once more meets a breakpoint at its instruction once more, which has counted it. Where a handler runs
 * before, that is known when the handler returns.
 */
static void note_restart(struct pt_regs *registers)
{
	long error = syscall_get_error(current, registers);
	int when = ntrace_signal_restarts(error);
	struct pt_regs again = *registers;

	if (syscall_get_nr(current, registers) < 0)
		ntrace_syscall_is_back(registers, current->mm);
	if (when == NTRACE_NO_RESTART)
		return;
	ntrace_trap_call_again(&again, error == -ERESTART_RESTARTBLOCK);
	ntrace_syscall_restarts(&again, current->mm, when);
}

static void tell(struct pt_regs *registers, bool entering)
{
	struct ntrace_syscall call = { .entering = entering };
	unsigned long arguments[6];

	if (!current->mm || current->flags & (PF_USER_WORKER | PF_EXITING))
		return;
	if (entering)
		ntrace_syscall_begins(registers, current->mm);
	else
		note_restart(registers);
	if (!ntrace_wants_syscalls(current->mm)) {
		if (!entering && !ntrace_is_traced(current->mm))
			give_up();
		return;
	}
	call.number = syscall_get_nr(current, registers);
	call.machine = (u16)syscall_get_arch(current);
	syscall_get_arguments(current, registers, arguments);
	for (int i = 0; i < ARRAY_SIZE(arguments); i++)
		call.arguments[i] = arguments[i];
	if (!entering) {
		call.result = syscall_get_error(current, registers) ?: syscall_get_return_value(current, registers);
		call.handled = ntrace_signal_handled();
	}
	ntrace_enter();
	ntrace_syscall(registers, current->mm, &call);
	ntrace_leave();
}

/* The current thread is about to make a system call. */
void ntrace_syscall_entering(struct pt_regs *registers)
{
	tell(registers, true);
}

/* A system call of the current thread has ended. */
void ntrace_syscall_leaving(struct pt_regs *registers)
{
	tell(registers, false);
}

static void notrace begin_use(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	atomic_inc(&users);
}

/* Sets the flags again that the last user of the tracepoints has cleared. */
static void set_again(struct work_struct *work)
{
	struct task_struct *process, *thread;

	/* The kernel disables the tracepoint after it has cleared the flags. */
	while (!is_used() && (static_key_enabled(&points[0]->key) || static_key_enabled(&points[1]->key)))
		schedule_timeout_uninterruptible(1);
	rcu_read_lock();
	for_each_process_thread(process, thread) {
		/* The address alone is looked up. */
		struct mm_struct *mm = READ_ONCE(thread->mm);

		if (mm && !(thread->flags & PF_KTHREAD) && ntrace_wants_syscalls(mm))
			set_task_syscall_work(thread, SYSCALL_TRACEPOINT);
	}
	rcu_read_unlock();
}

static DECLARE_WORK(setting, set_again);

static void notrace end_use(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (atomic_dec_return(&users) <= 0)
		queue_work(system_long_wq, &setting);
}

static struct ftrace_ops begins = { .func = begin_use, .flags = FTRACE_OPS_FL_PERMANENT };
static struct ftrace_ops ends = { .func = end_use, .flags = FTRACE_OPS_FL_PERMANENT };
static struct ftrace_ops entry, leaving;

/* The functions that the kernel calls, by versions and architectures. */
static struct ntrace_name entries[] = { { "trace_syscall_enter" }, { "syscall_trace_enter" }, { "" } };
static struct ntrace_name exits[] = { { "trace_syscall_exit" }, { "syscall_trace_exit" }, { "syscall_exit_work" }, { "" } };

static bool is_supported;

/* Whether this kernel can tell of system calls. */
bool ntrace_syscalls_supported(void)
{
	return is_supported;
}

static void find(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sys_enter"))
		points[0] = point;
	if (!strcmp(point->name, "sys_exit"))
		points[1] = point;
}

/* Without these functions all else of the module works. */
void ntrace_syscalls_init(void)
{
	char first[] = "syscall_regfunc", last[] = "syscall_unregfunc";

	for_each_kernel_tracepoint(find, NULL);
	if (!points[0] || !points[1])
		return;
	if (ntrace_ftrace_add(&begins, first) || ntrace_ftrace_add(&ends, last))
		return;
	atomic_add(static_key_enabled(&points[0]->key) + static_key_enabled(&points[1]->key), &users);
	is_supported = !ntrace_direct_add(&entry, entries, (unsigned long)ntrace_direct_syscall_entry) &&
		       !ntrace_direct_add(&leaving, exits, (unsigned long)ntrace_direct_syscall_exit);
}

void ntrace_syscalls_exit(void)
{
	ntrace_direct_remove(&entry, (unsigned long)ntrace_direct_syscall_entry);
	ntrace_direct_remove(&leaving, (unsigned long)ntrace_direct_syscall_exit);
	ntrace_ftrace_remove(&begins);
	ntrace_ftrace_remove(&ends);
	cancel_work_sync(&setting);
}
