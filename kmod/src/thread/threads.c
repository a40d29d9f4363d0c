// SPDX-License-Identifier: GPL-2.0
/* Threads of a process. In C for macros (for_each_process_thread, task_pt_regs), inline functions and fields of structures. */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/regset.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/syscalls.h>
#include <linux/uprobes.h>
#include <linux/wait.h>
#include <asm/syscall.h>

#include "../shim.h"

/* Where the registers of a thread have the address at which it goes on in user mode. */
#ifdef CONFIG_X86
#define PC(registers) (&(registers)->ip)
#else
#define PC(registers) (&(registers)->pc)
#endif

/*
 * A visit of all threads that have a memory. No thread passes by it unseen, although nobody is stopped:
 *
 * - The visit is on the list before it lists threads. A thread that is made later is looked at by its maker (ntrace_thread_made). One that
 *   is being made has the registers of its maker, and the visit waits for threads in clone(2).
 * - A thread that runs is seen by itself alone, in before_user_mode. The visit gives it TIF_UPROBE again in each round until then, because
 *   uprobes may clear the flag without a look.
 * - A thread that does not run is in the kernel. It has TIF_UPROBE before its registers are read, so before user mode it comes to look_here,
 *   where it waits for the lock that is held here. What it does in the kernel until then changes its pc to that of a slot only in a hit, and
 *   no hit enters the slots in question: the caller has waited for those that began before.
 * - A signal's handler is entered, and a tracer looks, after `seen` (hooks.c) has taken the thread out of its slot.
 * - A thread that has another memory, or is ending, does not return to the slots.
 * - A child in another process has a copy of the slots, and leaves them before it runs (ntrace_first_return).
 *
 * Each thread enters the kernel between the look and its next instruction in user mode, so no processor goes on with bytes that it fetched
 * from a slot before the slot is used again.
 */
struct visit {
	struct list_head node;
	struct mm_struct *mm;
	void (*look)(struct pt_regs *registers, void *data, bool done);
	void *data;
	/* The threads that had the memory when the visit began, with a reference to each. NULL stands for a thread that was looked at. */
	struct task_struct **threads;
	unsigned long count, room;
};

static LIST_HEAD(visits);
/* Guards the list and the visits in it. A thread that is being looked at cannot reach user mode, because it would have to take the lock. */
static DEFINE_SPINLOCK(visiting);

/*
 * Calls `each` for the threads that have a memory, in a read-side section of RCU. The threads of a process have the same memory unless they
 * end, so the walk takes one step for each other process, as that of a reader of /proc does.
 */
static void for_threads(struct mm_struct *mm, void (*each)(struct task_struct *thread, void *data), void *data)
{
	struct task_struct *process, *thread;

	rcu_read_lock();
	for_each_process(process)
		for_each_thread(process, thread) {
			struct mm_struct *its = READ_ONCE(thread->mm);

			if (its && its != mm)
				break;
			if (its && !(thread->flags & (PF_KTHREAD | PF_USER_WORKER)))
				each(thread, data);
		}
	rcu_read_unlock();
}

/*
 * Whether a thread may be creating another that no list has yet. A thread that waits for the end of a vfork, is stopped or is held has
 * already created it. One that a signal can wake has not begun: its seccomp filter keeps it waiting.
 */
static bool clones(const struct task_struct *thread)
{
	return ntrace_trap_is_clone(task_pt_regs(thread)) &&
	       !(READ_ONCE(thread->__state) & (TASK_INTERRUPTIBLE | TASK_FREEZABLE | __TASK_STOPPED | __TASK_TRACED));
}

/* Interrupts a system call in which a thread waits, and the processor on which it runs. */
static void interrupt(struct task_struct *thread)
{
	struct wait_queue_entry waiter = { .private = thread };

	set_tsk_thread_flag(thread, TIF_NOTIFY_SIGNAL);
	default_wake_function(&waiter, TASK_INTERRUPTIBLE, 0, NULL);
	kick_process(thread);
}

/*
 * Looks at another thread. Returns whether that is done.
 *
 * The thread gets TIF_UPROBE, so it calls before_user_mode (hooks.c) on its way to user mode, where it looks at itself. One that does not
 * run is looked at here, by a copy of its registers, because it may begin to run and handle a signal meanwhile. If nothing but its pc
 * changes, the new one is set, unless the thread has another by then.
 */
static bool look_at(struct visit *visit, struct task_struct *thread)
{
	struct pt_regs before, after;
	unsigned long pc;
	bool done = true;

	if (thread == current) {
		visit->look(task_pt_regs(current), visit->data, true);
		return true;
	}
	/* A thread gives its memory up under this lock, and has its stack until then. */
	task_lock(thread);
	if (thread->mm != visit->mm || thread->flags & PF_EXITING)
		goto out;
	set_tsk_thread_flag(thread, TIF_UPROBE);
	/* A thread that begins to run from here on sees the flag. */
	smp_mb();
	/* Whoever stopped running has written its registers before. Pairs with the release of finish_task. */
	if (smp_load_acquire(&thread->on_cpu) || clones(thread)) {
		kick_process(thread);
		done = false;
		goto out;
	}
	before = *task_pt_regs(thread);
	after = before;
	visit->look(&after, visit->data, false);
	pc = *PC(&after);
	if (pc == *PC(&before))
		goto out;
	*PC(&after) = *PC(&before);
	done = !memcmp(&after, &before, sizeof(after)) && cmpxchg(PC(task_pt_regs(thread)), *PC(&before), pc) == *PC(&before);
	if (done)
		visit->look(&before, visit->data, true);
	else
		interrupt(thread);
out:
	task_unlock(thread);
	return done;
}

static void note(struct task_struct *thread, void *data)
{
	struct visit *visit = data;

	if (visit->count < visit->room)
		visit->threads[visit->count] = get_task_struct(thread);
	visit->count++;
}

static void forget(struct visit *visit)
{
	for (unsigned long number = 0; number < min(visit->count, visit->room); number++)
		if (visit->threads[number])
			put_task_struct(visit->threads[number]);
	kvfree(visit->threads);
}

/* Lists the present threads of a visit. Returns whether there was memory for that. */
static bool list_threads(struct visit *visit)
{
	struct visit found = { .mm = visit->mm, .count = 32 };

	do {
		forget(&found);
		found.room = found.count + found.count / 4;
		found.count = 0;
		found.threads = kvcalloc(found.room, sizeof(*found.threads), GFP_KERNEL_ACCOUNT);
		if (!found.threads)
			return false;
		for_threads(found.mm, note, &found);
	} while (found.count > found.room);
	spin_lock(&visiting);
	visit->threads = found.threads;
	visit->count = visit->room = found.count;
	spin_unlock(&visiting);
	return true;
}

/* Looks at the threads that are left. Returns whether all are done. */
static bool look_round(struct visit *visit)
{
	bool done = true;

	for (unsigned long number = 0; number < visit->count; number++) {
		struct task_struct **thread = visit->threads + number, *seen = NULL;

		spin_lock(&visiting);
		if (*thread && look_at(visit, *thread))
			swap(*thread, seen);
		done &= !*thread;
		spin_unlock(&visiting);
		if (seen)
			put_task_struct(seen);
		cond_resched();
	}
	return done;
}

/* How long a visit waits for threads that do not come back from the kernel. */
enum { PATIENCE = 10 * HZ };

/*
 * Calls `look` once for each thread that has this memory, also for those that are being created. The registers say where the thread goes on
 * in user mode, and `look` may change them. It is called again with `done` set after a change has been made for good, and does not sleep.
 * Stops nobody. Returns false if some thread was not seen, after PATIENCE or SIGKILL or for want of memory.
 */
bool ntrace_threads_visit(struct mm_struct *mm, void (*look)(struct pt_regs *registers, void *data, bool done), void *data)
{
	struct visit visit = { .mm = mm, .look = look, .data = data };
	unsigned long until = jiffies + PATIENCE;
	bool done = false;

	/* Threads that are made from here on are looked at when they are made, so the list needs no later one. */
	spin_lock(&visiting);
	list_add(&visit.node, &visits);
	spin_unlock(&visiting);
	if (list_threads(&visit))
		while (!(done = look_round(&visit)) && time_before(jiffies, until) && !fatal_signal_pending(current))
			schedule_timeout_killable(1);
	spin_lock(&visiting);
	list_del(&visit.node);
	spin_unlock(&visiting);
	forget(&visit);
	return done;
}

/* Has the visits look at the registers of a thread that is not in user mode: the current one, or one that has not run. */
static void look_here(struct task_struct *thread)
{
	struct pt_regs *registers = task_pt_regs(thread);
	struct visit *visit;

	if (list_empty(&visits))
		return;
	spin_lock(&visiting);
	list_for_each_entry(visit, &visits, node) {
		if (visit->mm != thread->mm)
			continue;
		visit->look(registers, visit->data, true);
		for (unsigned long number = 0; number < visit->count; number++)
			if (visit->threads[number] == thread) {
				visit->threads[number] = NULL;
				put_task_struct(thread);
			}
	}
	spin_unlock(&visiting);
}

/* The current thread is on its way to user mode. */
void ntrace_thread_returns(void)
{
	look_here(current);
}

/* A thread was made, and has not run. */
void ntrace_thread_made(struct task_struct *thread)
{
	look_here(thread);
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

struct numbers {
	struct pid_namespace *namespace;
	u64 *numbers;
	unsigned long count, most;
};

static void number(struct task_struct *thread, void *data)
{
	struct numbers *all = data;

	if (all->count++ < all->most)
		*all->numbers++ = task_pid_nr_ns(thread, all->namespace);
}

/* Writes the numbers of up to `most` threads that have this memory. Returns how many there are. */
unsigned long ntrace_threads_list(struct mm_struct *mm, struct pid_namespace *namespace, u64 *numbers, unsigned long most)
{
	struct numbers all = { .namespace = namespace, .numbers = numbers, .most = most };

	for_threads(mm, number, &all);
	return all.count;
}

static unsigned long page_limit(const struct task_struct *thread, unsigned int limit)
{
	return task_rlimit(thread, limit) >> PAGE_SHIFT;
}

static void note_limits(struct task_struct *thread, void *data)
{
	struct ntrace_limits *limits = data;

	if (limits->cred || thread->flags & PF_EXITING)
		return;
	limits->cred = get_task_cred(thread);
	limits->all = page_limit(thread, RLIMIT_AS);
	limits->data = page_limit(thread, RLIMIT_DATA);
	limits->locked = page_limit(thread, RLIMIT_MEMLOCK);
}

/* What a thread with this memory may map. Returns false if there is no thread. */
bool ntrace_limits_of(struct mm_struct *mm, struct ntrace_limits *limits)
{
	limits->cred = NULL;
	for_threads(mm, note_limits, limits);
	return limits->cred;
}

static void note_processor(struct task_struct *thread, void *data)
{
	if (READ_ONCE(thread->on_cpu))
		cpumask_set_cpu(task_cpu(thread), data);
}

static void nothing(void *data)
{
}

/*
 * Interrupts the processors that run threads with this memory. Afterwards none of these threads executes bytes that it fetched before the
 * call: one that begins to run meanwhile comes from the kernel, whose return to user mode fetches anew.
 */
void ntrace_threads_synchronize(struct mm_struct *mm)
{
	cpumask_var_t processors;

	/* The threads' own writes and those of the caller come before the look at who runs. */
	smp_mb();
	if (!zalloc_cpumask_var(&processors, GFP_KERNEL)) {
		kick_all_cpus_sync();
		return;
	}
	for_threads(mm, note_processor, processors);
	preempt_disable();
	smp_call_function_many(processors, nothing, NULL, true);
	preempt_enable();
	free_cpumask_var(processors);
}

/*
 * Makes a thread call before_user_mode (hooks.c) before it runs in user mode again. Interrupts a system call in which it waits. Returns
 * whether the memory has such a thread.
 */
bool ntrace_thread_notify(struct mm_struct *mm, struct pid_namespace *namespace, int number)
{
	struct task_struct *thread;
	bool found;

	rcu_read_lock();
	thread = pid_task(find_pid_ns(number, namespace), PIDTYPE_PID);
	found = thread && thread->mm == mm && !(thread->flags & (PF_KTHREAD | PF_USER_WORKER | PF_EXITING));
	if (found) {
		/* The caller's request must be visible before the flags are. */
		smp_mb();
		set_tsk_thread_flag(thread, TIF_UPROBE);
		interrupt(thread);
	}
	rcu_read_unlock();
	return found;
}

/*
 * Calls `each` for the threads with this memory that are there, where it may sleep. Returns the first error: of `each`, or for want of memory.
 */
int ntrace_threads_each(struct mm_struct *mm, int (*each)(struct task_struct *thread, void *data), void *data)
{
	struct visit all = { .mm = mm };
	int error = 0;

	if (!list_threads(&all))
		return -ENOMEM;
	for (unsigned long number = 0; number < all.count && !error; number++)
		if (!(all.threads[number]->flags & PF_EXITING))
			error = each(all.threads[number], data);
	forget(&all);
	/* A thread may have ended meanwhile. */
	return error == -ESRCH ? 0 : error;
}

static void tell_syscalls(struct task_struct *thread, void *data)
{
	ntrace_syscalls_of(thread);
}

/*
 * Has all threads with this memory tell of their system calls. One that is made meanwhile is either among them, or its maker finds that its
 * calls are wanted (ntrace_thread_created).
 */
void ntrace_threads_tell_syscalls(struct mm_struct *mm)
{
	/* A maker that does not see what the session has chosen has put its thread on the list before this reads it. */
	smp_mb();
	for_threads(mm, tell_syscalls, NULL);
}

static int clear(void *data)
{
	struct task_struct *process, *thread;

	for_each_process_thread(process, thread) {
		if (!thread->mm || (thread->flags & (PF_KTHREAD | PF_USER_WORKER)))
			continue;
		ntrace_syscalls_clear(thread);
		if (thread->utask && thread->utask->active_uprobe)
			continue;
		if (ntrace_trap_kind(task_pt_regs(thread)) != NTRACE_OTHERS)
			clear_tsk_thread_flag(thread, TIF_UPROBE);
	}
	return 0;
}

/*
 * Withdraws all notifications, and the flags of system calls. After the module is gone, the kernel would take TIF_UPROBE for a breakpoint of
 * uprobes.
 */
void ntrace_threads_clear(void)
{
	stop_machine(clear, NULL, NULL);
}
