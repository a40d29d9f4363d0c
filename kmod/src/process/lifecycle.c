// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of the processes that sessions trace: they end, or execute another program. In C for tables, tracepoints and fields
 * of structures.
 *
 * A process is found by its number's description here: its memory is gone when it ends. One that shares the memory of a debuggee
 * for a while (vfork) is the debuggee's guest.
 */
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uprobes.h>

#include "../shim.h"

struct ntrace_life {
	struct hlist_node node;
	/* Of a debuggee its guests; the place of a guest among them. */
	struct list_head guests;
	struct pid *process;
	/* What it was traced with. */
	struct mm_struct *mm;
	void *watch;
	bool is_guest;
};

static DEFINE_HASHTABLE(lives, 8);
static DEFINE_SPINLOCK(lock);

static struct ntrace_life *make(struct pid *process, struct mm_struct *mm, void *watch)
{
	struct ntrace_life *life = kzalloc(sizeof(*life), GFP_KERNEL_ACCOUNT);

	if (life) {
		INIT_LIST_HEAD(&life->guests);
		life->process = get_pid(process);
		life->mm = mm;
		life->watch = watch;
	}
	return life;
}

static void enter(struct ntrace_life *life)
{
	hash_add(lives, &life->node, (unsigned long)life->process);
}

static void end(struct ntrace_life *life)
{
	hash_del(&life->node);
	list_del(&life->guests);
	put_pid(life->process);
	kfree(life);
}

/* Whether no thread of a process has memory any more. */
static bool is_over(struct task_struct *task)
{
	struct task_struct *thread;

	for_each_thread(task, thread)
		if (thread->mm)
			return false;
	return true;
}

/* A session traces a process from now on, if that lives. */
int ntrace_life_begin(struct pid_namespace *namespace, int process, struct mm_struct *mm, void *watch,
		      struct ntrace_life **place)
{
	struct task_struct *task;
	struct ntrace_life *life;
	struct pid *pid;
	int error = -ESRCH;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(process, namespace));
	rcu_read_unlock();
	life = make(pid, mm, watch);
	put_pid(pid);
	if (!life)
		return -ENOMEM;
	spin_lock(&lock);
	enter(life);
	*place = life;
	rcu_read_lock();
	/* Whoever ends or executes after this finds it. */
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

/* It does not any more. */
void ntrace_life_end(struct ntrace_life **place)
{
	struct ntrace_life *guest, *next;

	spin_lock(&lock);
	if (*place) {
		list_for_each_entry_safe(guest, next, &(*place)->guests, guests)
			end(guest);
		end(*place);
		*place = NULL;
	}
	spin_unlock(&lock);
}

/* The process that runs here is a guest of a debuggee from now on. */
void ntrace_life_join(struct ntrace_life **place)
{
	struct ntrace_life *guest = make(task_tgid(current), current->mm, NULL);

	if (!guest)
		return;
	guest->is_guest = true;
	spin_lock(&lock);
	if (*place) {
		guest->watch = (*place)->watch;
		list_add(&guest->guests, &(*place)->guests);
		enter(guest);
	} else {
		end(guest);
	}
	spin_unlock(&lock);
}

/* Kills a debuggee, if it is still the program that was traced. */
void ntrace_life_kill(struct ntrace_life **place)
{
	struct task_struct *task;
	struct pid *pid = NULL;

	spin_lock(&lock);
	rcu_read_lock();
	if (*place) {
		task = pid_task((*place)->process, PIDTYPE_TGID);
		if (task && (!task->mm || task->mm == (*place)->mm))
			pid = get_pid((*place)->process);
	}
	rcu_read_unlock();
	spin_unlock(&lock);
	if (pid)
		kill_pid(pid, SIGKILL, 1);
	put_pid(pid);
}

/*
 * The process that runs here executes another program than the one that a session traces. Gives a reference to that, which is not
 * given again.
 */
void *ntrace_life_due(bool *is_guest)
{
	struct pid *process = task_tgid(current);
	struct ntrace_life *life;
	void *watch = NULL;

	spin_lock(&lock);
	hash_for_each_possible(lives, life, node, (unsigned long)process) {
		if (life->process != process || life->mm == current->mm)
			continue;
		watch = life->watch;
		ntrace_watch_hold(watch);
		*is_guest = life->is_guest;
		if (life->is_guest)
			end(life);
		else
			hash_del(&life->node);
		break;
	}
	spin_unlock(&lock);
	return watch;
}

/* The process runs another program, of which nothing has run. */
void ntrace_executed(void *data, struct task_struct *task, pid_t before, struct linux_binprm *program)
{
	struct ntrace_life *life;

	spin_lock(&lock);
	hash_for_each_possible(lives, life, node, (unsigned long)task_tgid(task))
		if (life->process == task_tgid(task))
			set_thread_flag(TIF_UPROBE);
	spin_unlock(&lock);
}

/* The thread that runs here ends: it has no memory any more, and its status stands there. */
void ntrace_exited(void)
{
	struct signal_struct *signal = current->signal;
	struct pid *process = task_tgid(current);
	struct ntrace_life *life;
	struct hlist_node *next;
	bool over;
	int status;

	spin_lock(&lock);
	hash_for_each_possible_safe(lives, life, next, node, (unsigned long)process) {
		if (life->process != process)
			continue;
		ntrace_thread_ended(life->watch);
		rcu_read_lock();
		over = is_over(current);
		status = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : current->group_leader->exit_code;
		rcu_read_unlock();
		if (over && life->is_guest) {
			end(life);
		} else if (over) {
			hash_del(&life->node);
			ntrace_ended(life->watch, status);
		}
	}
	spin_unlock(&lock);
}
