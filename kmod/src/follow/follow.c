// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of all sessions by which processes are traced as soon as they execute a program, and the processes that have executed one and
 * have not run since. In C for hash tables, credentials, control groups and fields of structures.
 *
 * A rule lies in the list of its opener's user, and concerns the processes of that user alone. The rules of openers that may trace everybody
 * lie in one more list. So a process that executes a program looks at no rule of a user that may not trace it.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/uprobes.h>
#include <linux/user_namespace.h>

#include "../shim.h"

/* A user with rules. */
struct owner {
	struct hlist_node node;
	kuid_t user;
	unsigned long count;
	struct list_head rules;
};

struct ntrace_follow {
	struct list_head entry;
	struct owner *owner;
	u64 id;
	const void *follow;
};

/* A thread that has executed a program and has not run since. */
struct newcomer {
	struct hlist_node node;
	struct task_struct *thread;
	/* It has let other work before the return to user mode go first. */
	bool has_waited;
};

static DEFINE_HASHTABLE(owners, 6);
static DEFINE_HASHTABLE(newcomers, 8);
static DEFINE_SPINLOCK(lock);

/* Number of rules. */
static unsigned int rules;

static struct owner *find_owner(kuid_t user)
{
	struct owner *owner;

	hash_for_each_possible(owners, owner, node, __kuid_val(user))
		if (uid_eq(owner->user, user))
			return owner;
	return NULL;
}

/* The owner of an opener's rules: nobody for one that may trace everybody. */
static kuid_t owner_of(const struct cred *opener)
{
	const struct cred *before = override_creds(opener);
	bool is_free = ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE);

	revert_creds(before);
	return is_free ? INVALID_UID : opener->uid;
}

/* Adds a rule of an opener, whose user has at most `most` of them. Returns NULL and sets the error if there is no room. */
struct ntrace_follow *ntrace_follow_add(const struct cred *opener, u64 id, const void *follow, unsigned long most, int *error)
{
	struct ntrace_follow *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct owner *owner, *made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	kuid_t user = owner_of(opener);

	*error = -ENOMEM;
	if (!new || !made)
		goto failed;
	INIT_LIST_HEAD(&made->rules);
	made->user = user;
	new->id = id;
	new->follow = follow;
	spin_lock(&lock);
	owner = find_owner(user);
	if (!owner) {
		owner = made;
		made = NULL;
		hash_add(owners, &owner->node, __kuid_val(user));
	}
	*error = owner->count < most ? 0 : -ENOSPC;
	if (!*error) {
		owner->count++;
		new->owner = owner;
		list_add(&new->entry, &owner->rules);
		WRITE_ONCE(rules, rules + 1);
	}
	spin_unlock(&lock);
	if (!*error) {
		kfree(made);
		return new;
	}
failed:
	kfree(made);
	kfree(new);
	return NULL;
}

/* Removes a rule. Nobody finds it any more. */
void ntrace_follow_remove(struct ntrace_follow *follow)
{
	struct owner *owner = follow->owner;
	bool is_last;

	spin_lock(&lock);
	WRITE_ONCE(rules, rules - 1);
	list_del(&follow->entry);
	is_last = !--owner->count;
	if (is_last)
		hash_del(&owner->node);
	spin_unlock(&lock);
	if (is_last)
		kfree(owner);
	kfree(follow);
}

/* The rule with the lowest number above `id` in a list, whose order says nothing. */
static struct ntrace_follow *next_of(kuid_t user, u64 id)
{
	struct owner *owner = find_owner(user);
	struct ntrace_follow *follow, *next = NULL;

	if (owner)
		list_for_each_entry(follow, &owner->rules, entry)
			if (follow->id > id && (!next || follow->id < next->id))
				next = follow;
	return next;
}

/* The rule with the lowest number above `id` that may concern the current process, with a reference. NULL if there is none. */
void *ntrace_follow_next(u64 *id)
{
	struct ntrace_follow *own, *next;
	const void *follow = NULL;

	if (!READ_ONCE(rules))
		return NULL;
	spin_lock(&lock);
	own = next_of(current_uid(), *id);
	next = next_of(INVALID_UID, *id);
	if (!next || (own && own->id < next->id))
		next = own;
	if (next) {
		*id = next->id;
		follow = next->follow;
		ntrace_follow_get(follow);
	}
	spin_unlock(&lock);
	return (void *)follow;
}

static struct newcomer *make_newcomer(void)
{
	struct newcomer *newcomer = kzalloc(sizeof(*newcomer), GFP_ATOMIC | __GFP_ACCOUNT);

	if (newcomer)
		newcomer->thread = current;
	return newcomer;
}

/*
 * The current process has executed a program, which has not run. A program that the kernel starts for itself is left alone, because a kernel
 * that waits for it may do so for the tracer.
 */
bool ntrace_follow_executed(void)
{
	struct newcomer *newcomer;
	bool concerns, is_helper;

	if (!READ_ONCE(rules))
		return false;
	rcu_read_lock();
	is_helper = rcu_dereference(current->real_parent)->flags & PF_KTHREAD;
	rcu_read_unlock();
	if (is_helper)
		return false;
	/* Without memory the process is not followed. */
	newcomer = make_newcomer();
	if (!newcomer)
		return false;
	spin_lock(&lock);
	concerns = find_owner(current_uid()) || find_owner(INVALID_UID);
	if (concerns)
		hash_add(newcomers, &newcomer->node, (unsigned long)current);
	spin_unlock(&lock);
	if (!concerns)
		kfree(newcomer);
	return concerns;
}

/* The entry of the current thread, under the lock. */
static struct newcomer *find_newcomer(void)
{
	struct newcomer *newcomer;

	hash_for_each_possible(newcomers, newcomer, node, (unsigned long)current)
		if (newcomer->thread == current)
			return newcomer;
	return NULL;
}

/* Nobody else adds or removes an entry of the current thread. */
static bool may_be_newcomer(void)
{
	return !hlist_empty(&newcomers[hash_min((unsigned long)current, HASH_BITS(newcomers))]);
}

/* The current thread ends. */
void ntrace_follow_forget(void)
{
	struct newcomer *newcomer;

	if (!may_be_newcomer())
		return;
	spin_lock(&lock);
	newcomer = find_newcomer();
	if (newcomer)
		hash_del(&newcomer->node);
	spin_unlock(&lock);
	kfree(newcomer);
}

/*
 * Whether the current thread has executed a program and not run since. It is said once, and after the files are closed that exec closes:
 * that is other work before the return to user mode, and who started the program may wait for the end of a pipe.
 */
bool ntrace_follow_take_newcomer(void)
{
	struct newcomer *newcomer;
	bool waits;

	if (!may_be_newcomer())
		return false;
	spin_lock(&lock);
	newcomer = find_newcomer();
	waits = newcomer && !newcomer->has_waited && task_work_pending(current);
	if (waits)
		newcomer->has_waited = true;
	spin_unlock(&lock);
	if (waits)
		set_thread_flag(TIF_UPROBE);
	if (!newcomer || waits)
		return false;
	ntrace_follow_forget();
	return true;
}

/* Writes the path of the current process' program. Returns its length, or 0 if it has none. The buffer has PATH_MAX bytes. */
size_t ntrace_follow_program(char *buffer)
{
	/* The program has not run, so its only thread cannot replace the file, and nobody else can. */
	struct file *file = rcu_dereference_raw(current->mm->exe_file);
	const char *path = file ? d_path(&file->f_path, buffer, PATH_MAX) : NULL;
	size_t length;

	if (IS_ERR_OR_NULL(path))
		return 0;
	length = strlen(path);
	memmove(buffer, path, length);
	return length;
}

/* Whether a user, by its number for the opener, is the real user of the current process. */
bool ntrace_follow_is_user(const struct cred *opener, u64 user)
{
	kuid_t wanted = make_kuid(opener->user_ns, user);

	return uid_valid(wanted) && uid_eq(wanted, current_uid());
}

/* Whether the current process is in a control group of version 2, or in one below it. */
bool ntrace_follow_is_in_group(u64 id)
{
	bool found = false;
#ifdef CONFIG_CGROUPS
	struct cgroup *group;

	rcu_read_lock();
	for (group = task_dfl_cgroup(current); group && !found; group = cgroup_parent(group))
		found = cgroup_id(group) == id;
	rcu_read_unlock();
#endif
	return found;
}

/* Whether the current process is in a PID namespace, or in one below it. */
bool ntrace_follow_is_in_namespace(u64 number)
{
	const struct pid_namespace *namespace;

	for (namespace = task_active_pid_ns(current); namespace; namespace = namespace->parent)
		if (namespace->ns.inum == number)
			return true;
	return false;
}
