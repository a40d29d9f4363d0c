// SPDX-License-Identifier: GPL-2.0
/* Threads of a process. In C for macros (for_each_process_thread, task_pt_regs), inline functions and fields of structures. */
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

/*
 * Whether a thread may be creating another that no list has yet. A thread that waits for the end of a vfork, is stopped or is held has
 * already created it.
 */
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

/* How long a visit waits for threads that create others. Only a lack of memory delays these so long. */
enum { PATIENCE = 10 * HZ };

/*
 * Calls `look` with the user registers of every thread that has this memory, while all processors are stopped. The registers say where
 * each thread goes on in user mode, and `look` may change them. Repeats the visit until it includes all threads and processes that were
 * being created.
 */
void ntrace_threads_visit(struct mm_struct *mm, void (*look)(struct pt_regs *registers, void *data), void *data)
{
	struct visit all = { .mm = mm, .look = look, .data = data };
	unsigned long until = jiffies + PATIENCE;

	do
		stop_machine(visit, &all, NULL);
	while (all.clones && time_before(jiffies, until) && !schedule_timeout_uninterruptible(1));
}

/* The number of a thread in a namespace. NULL is the current thread. */
int ntrace_thread_number(struct task_struct *thread, struct pid_namespace *namespace)
{
	return task_pid_nr_ns(thread ?: current, namespace);
}

/* Makes the current thread call before_user_mode (hooks.c) when it returns to user mode. */
void ntrace_thread_notify_this(void)
{
	set_thread_flag(TIF_UPROBE);
}

/* close(2) of 32-bit programs (arch/x86/entry/syscalls/syscall_32.tbl). */
enum { COMPAT_CLOSE = 6 };

/*
 * Whether the current thread handles a signal before it goes on in user mode.
 *
 * A system call that a notification interrupted is restarted unless a handler runs, so the program does not see the interruption. A
 * close(2) is not restarted: the descriptor is closed even if the call returns EINTR.
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

/* Whether the current thread is the leader of its process. */
bool ntrace_thread_is_leader(void)
{
	return thread_group_leader(current);
}

/* The general registers of the current thread, as ptrace shows them. Returns the number of bytes. */
size_t ntrace_registers_get(void *registers, size_t size)
{
	int length = regset_get(current, &task_user_regset_view(current)->regsets[0], size, registers);

	return length > 0 ? length : 0;
}

/* Writes the numbers of up to `most` threads that have this memory. Returns how many there are. */
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

/*
 * Makes a thread call before_user_mode (hooks.c) before it runs in user mode again. Interrupts a system call in which it waits. Returns
 * whether the memory has such a thread.
 */
bool ntrace_thread_notify(struct mm_struct *mm, struct pid_namespace *namespace, int number)
{
	struct wait_queue_entry waiter = {};
	struct task_struct *thread;
	bool found;

	rcu_read_lock();
	thread = pid_task(find_pid_ns(number, namespace), PIDTYPE_PID);
	found = thread && thread->mm == mm && !(thread->flags & (PF_KTHREAD | PF_USER_WORKER | PF_EXITING));
	if (found) {
		/* The caller's request must be visible before the flags are. */
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

static int clear(void *data)
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

/* Withdraws all notifications. After the module is gone, the kernel would take the flag for a breakpoint of uprobes. */
void ntrace_threads_clear(void)
{
	stop_machine(clear, NULL, NULL);
}
