// SPDX-License-Identifier: GPL-2.0
/* Threads of a process. In C for macros (for_each_process_thread, task_pt_regs) and fields of structures. */
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/regset.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/stop_machine.h>
#include <linux/syscalls.h>
#include <linux/uprobes.h>
#include <linux/wait.h>
#include <asm/syscall.h>

#include "../shim.h"

struct visit {
	struct mm_struct *mm;
	void (*look)(struct pt_regs *registers, void *data);
	void *data;
	bool clones;
};

/* Whether a thread may be making another that nobody sees yet. Who waits for a vfork's end, is stopped or is held has made it. */
static bool clones(const struct task_struct *thread)
{
	return ntrace_trap_is_clone(task_pt_regs(thread)) &&
	       !(READ_ONCE(thread->__state) & (TASK_FREEZABLE | __TASK_STOPPED | __TASK_TRACED));
}

static int visit(void *data)
{
	struct visit *visit = data;
	struct task_struct *process, *thread;

	visit->clones = false;
	for_each_process_thread(process, thread) {
		if (thread->mm != visit->mm || (thread->flags & (PF_KTHREAD | PF_USER_WORKER)))
			continue;
		visit->look(task_pt_regs(thread), visit->data);
		visit->clones |= clones(thread);
	}
	return 0;
}

/* So long a thread is waited for that makes another: no more than memory that cannot be had keeps it. */
enum { PATIENCE = 10 * HZ };

/*
 * Looks at the user registers of every thread that has this memory, while all processors are stopped: where a thread goes on in
 * user mode stands there and nowhere else then, and can be changed. Does so again until all threads and processes that were being made from
 * them are there.
 */
void ntrace_threads_visit(struct mm_struct *mm, void (*look)(struct pt_regs *registers, void *data), void *data)
{
	struct visit all = { .mm = mm, .look = look, .data = data };
	unsigned long until = jiffies + PATIENCE;

	do
		stop_machine(visit, &all, NULL);
	while (all.clones && time_before(jiffies, until) && !schedule_timeout_uninterruptible(1));
}

/* Of the thread that runs here where none is named. */
int ntrace_thread_number(struct task_struct *thread, struct pid_namespace *namespace)
{
	return task_pid_nr_ns(thread ?: current, namespace);
}

/* Has the thread that runs here come by way_to_user. */
void ntrace_thread_notify_this(void)
{
	set_thread_flag(TIF_UPROBE);
}

/* Of 32-bit programs: arch/x86/entry/syscalls/syscall_32.tbl. */
enum { COMPAT_CLOSE = 6 };

/*
 * Whether a signal is to be handled, and a system call may be begun anew for it, before the thread that runs here goes on.
 * One that ends with EINTR is begun anew where no handler is run: for all it knows, nobody broke it off. close is done
 * whatever it says.
 */
bool ntrace_thread_is_signalled(void)
{
	struct pt_regs *registers = task_pt_regs(current);
	int call = syscall_get_nr(current, registers);

	if (call >= 0 && call != (in_compat_syscall() ? COMPAT_CLOSE : __NR_close) &&
	    syscall_get_return_value(current, registers) == -EINTR && test_thread_flag(TIF_NOTIFY_SIGNAL))
		syscall_set_return_value(current, registers, -ERESTARTNOHAND, 0);
	return signal_pending(current);
}

/* Whether the thread that runs here is the first of its process. */
bool ntrace_thread_is_leader(void)
{
	return thread_group_leader(current);
}

/* The general registers of the thread that runs here, as ptrace shows them. Gives how many bytes they are. */
size_t ntrace_registers_get(void *registers, size_t size)
{
	int length = regset_get(current, &task_user_regset_view(current)->regsets[0], size, registers);

	return length > 0 ? length : 0;
}

/* The numbers of all threads that have this memory: how many there are, at most `most` are written. */
unsigned long ntrace_threads_list(struct mm_struct *mm, struct pid_namespace *namespace, u64 *numbers, unsigned long most)
{
	struct task_struct *process, *thread;
	unsigned long count = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread)
		if (thread->mm == mm && !(thread->flags & (PF_KTHREAD | PF_USER_WORKER)) && count++ < most)
			*numbers++ = task_pid_nr_ns(thread, namespace);
	rcu_read_unlock();
	return count;
}

/* Has a thread come by way_to_user before it runs in user mode again, from a wait too. Says whether there is such a thread. */
bool ntrace_thread_notify(struct mm_struct *mm, struct pid_namespace *namespace, int number)
{
	struct wait_queue_entry waiter = {};
	struct task_struct *thread;
	bool found;

	rcu_read_lock();
	thread = pid_task(find_pid_ns(number, namespace), PIDTYPE_PID);
	found = thread && thread->mm == mm && !(thread->flags & (PF_KTHREAD | PF_USER_WORKER | PF_EXITING));
	if (found) {
		/* Whoever looks for work then finds it. */
		smp_mb();
		set_tsk_thread_flag(thread, TIF_UPROBE);
		set_tsk_thread_flag(thread, TIF_NOTIFY_SIGNAL);
		waiter.private = thread;
		default_wake_function(&waiter, TASK_INTERRUPTIBLE, 0, NULL);
		kick_process(thread);
	}
	rcu_read_unlock();
	return found;
}

static int forget(void *data)
{
	struct task_struct *process, *thread;

	for_each_process_thread(process, thread) {
		if (!thread->mm || (thread->flags & (PF_KTHREAD | PF_USER_WORKER)))
			continue;
		if (thread->utask && thread->utask->active_uprobe)
			continue;
		if (ntrace_trap_pending(task_pt_regs(thread)) != NTRACE_OTHERS)
			clear_tsk_thread_flag(thread, TIF_UPROBE);
	}
	return 0;
}

/* Nobody has to come by any more: without us the kernel would take it for a breakpoint of uprobes'. */
void ntrace_threads_clear(void)
{
	stop_machine(forget, NULL, NULL);
}
