// SPDX-License-Identifier: GPL-2.0
/*
 * Exec and exit of the processes that sessions trace. In C for hash tables, tracepoints and fields of structures.
 *
 * A process is found by its struct pid, because its memory is gone when it ends. A process that shares the memory of a debuggee for a
 * while (vfork) is the debuggee's guest.
 */
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uprobes.h>

#include "../shim.h"

struct ntrace_life {
	struct hlist_node node;
	/* The guests of a debuggee, and the entry of a guest in that list. */
	struct list_head guests;
	struct pid *process;
	/* The memory of the program that is traced. */
	struct mm_struct *mm;
	const void *attachment;
	bool is_guest;
};

static DEFINE_HASHTABLE(lives, 8);
static DEFINE_SPINLOCK(lock);

/* The lock of the table of traced address spaces (traced_table.rs). */
static DEFINE_SPINLOCK(table);

void ntrace_table_lock(void)
{
	spin_lock(&table);
}

void ntrace_table_unlock(void)
{
	spin_unlock(&table);
}

static struct ntrace_life *make(struct pid *process, struct mm_struct *mm, const void *attachment)
{
	struct ntrace_life *life = kzalloc(sizeof(*life), GFP_KERNEL_ACCOUNT);

	if (life) {
		INIT_LIST_HEAD(&life->guests);
		life->process = get_pid(process);
		life->mm = mm;
		life->attachment = attachment;
	}
	return life;
}

static void enter(struct ntrace_life *life)
{
	hash_add(lives, &life->node, (unsigned long)life->process);
}

/*
 * Whether there may be an entry of a process whose memory the current thread has just given up or replaced. Of a process that nobody traces
 * there is none, with few exceptions, and no lock is taken.
 */
static bool may_be_known(const struct pid *process)
{
	/* Pairs with ntrace_life_add: either that sees what became of the memory, or its entry is seen here. */
	smp_mb();
	return !hlist_empty(&lives[hash_min((unsigned long)process, HASH_BITS(lives))]);
}

static void end(struct ntrace_life *life)
{
	hash_del(&life->node);
	list_del(&life->guests);
	put_pid(life->process);
	kfree(life);
}

/* Whether all threads of a process have given up its memory. */
static bool is_over(struct task_struct *task)
{
	struct task_struct *thread;

	for_each_thread(task, thread)
		if (thread->mm)
			return false;
	return true;
}

/* Adds a process that a session attaches to. Fails if the process has ended. Sets `life` in both cases. */
int ntrace_life_add(struct pid_namespace *namespace, int process, struct mm_struct *mm, const void *attachment,
		    struct ntrace_life **life)
{
	struct task_struct *task;
	struct ntrace_life *new;
	struct pid *pid;
	int error = -ESRCH;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(process, namespace));
	rcu_read_unlock();
	new = make(pid, mm, attachment);
	put_pid(pid);
	if (!new)
		return -ENOMEM;
	spin_lock(&lock);
	enter(new);
	*life = new;
	/* Pairs with may_be_known. */
	smp_mb();
	rcu_read_lock();
	/* A process that ends or executes from here on finds its entry. */
	task = pid_task(pid, PIDTYPE_TGID);
	if (task && !is_over(task)) {
		error = 0;
		if (task->mm && task->mm != mm)
			set_tsk_thread_flag(task, TIF_UPROBE);
	}
	rcu_read_unlock();
	spin_unlock(&lock);
	return error;
}

/* Removes a process and its guests, if it was added. */
void ntrace_life_remove(struct ntrace_life **life)
{
	struct ntrace_life *guest, *next;

	spin_lock(&lock);
	if (*life) {
		list_for_each_entry_safe(guest, next, &(*life)->guests, guests)
			end(guest);
		end(*life);
		*life = NULL;
	}
	spin_unlock(&lock);
}

/* Adds the current process as a guest of a debuggee, if that was not removed. */
void ntrace_life_add_guest(struct ntrace_life **life)
{
	struct ntrace_life *guest = make(task_tgid(current), current->mm, NULL);

	if (!guest)
		return;
	guest->is_guest = true;
	spin_lock(&lock);
	if (*life) {
		guest->attachment = (*life)->attachment;
		list_add(&guest->guests, &(*life)->guests);
		enter(guest);
	} else {
		end(guest);
	}
	spin_unlock(&lock);
}

/*
 * Kills a debuggee unless it has executed another program, which may have another user's rights. A thread whose lock is held keeps its
 * memory. Until it gives that up, no other thread of the process executes a program, and one that is about to dies before that runs.
 */
void ntrace_life_kill(struct ntrace_life **life)
{
	struct task_struct *task = NULL, *thread;
	bool found = false;

	spin_lock(&lock);
	rcu_read_lock();
	if (*life)
		task = pid_task((*life)->process, PIDTYPE_TGID);
	if (task)
		for_each_thread(task, thread) {
			task_lock(thread);
			found = thread->mm;
			if (found && thread->mm == (*life)->mm)
				kill_pid((*life)->process, SIGKILL, 1);
			task_unlock(thread);
			if (found)
				break;
		}
	rcu_read_unlock();
	spin_unlock(&lock);
}

/*
 * Takes an entry of the current process whose traced program is not the current one, since the process has executed another. Returns a
 * reference to the attachment, or NULL if there is no such entry. Each entry is returned once.
 */
void *ntrace_life_take_executed(bool *is_guest)
{
	struct pid *process = task_tgid(current);
	const void *attachment = NULL;
	struct ntrace_life *life;

	if (!may_be_known(process))
		return NULL;
	spin_lock(&lock);
	hash_for_each_possible(lives, life, node, (unsigned long)process) {
		if (life->process != process || life->mm == current->mm)
			continue;
		attachment = life->attachment;
		ntrace_attachment_get(attachment);
		*is_guest = life->is_guest;
		if (life->is_guest)
			end(life);
		else
			hash_del(&life->node);
		break;
	}
	spin_unlock(&lock);
	return (void *)attachment;
}

/* Tracepoint: the current process has executed another program, which has not run yet. */
void ntrace_executed(void *data, struct task_struct *task, pid_t before, struct linux_binprm *program)
{
	struct ntrace_life *life;

	if (ntrace_follow_executed())
		set_thread_flag(TIF_UPROBE);
	if (!may_be_known(task_tgid(task)))
		return;
	spin_lock(&lock);
	hash_for_each_possible(lives, life, node, (unsigned long)task_tgid(task))
		if (life->process == task_tgid(task))
			set_thread_flag(TIF_UPROBE);
	spin_unlock(&lock);
}

/* The current thread ends. It has given up its memory, and its status is set. */
void ntrace_exited(void)
{
	struct signal_struct *signal = current->signal;
	struct pid *process = task_tgid(current);
	struct ntrace_life *life;
	struct hlist_node *next;
	bool over;
	int status;

	ntrace_follow_forget();
	if (!may_be_known(process))
		return;
	spin_lock(&lock);
	hash_for_each_possible_safe(lives, life, next, node, (unsigned long)process) {
		if (life->process != process)
			continue;
		ntrace_thread_ended(life->attachment);
		rcu_read_lock();
		over = is_over(current);
		status = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : current->group_leader->exit_code;
		rcu_read_unlock();
		if (over && life->is_guest) {
			end(life);
		} else if (over) {
			hash_del(&life->node);
			ntrace_process_ended(life->attachment, status);
		}
	}
	spin_unlock(&lock);
}
