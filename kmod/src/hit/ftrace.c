// SPDX-License-Identifier: GPL-2.0
/* Callbacks of ftrace for functions of the kernel, and threads that they lead into the module. In C for struct ftrace_ops. */
#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "../shim.h"

/* Has ftrace call `ops` for one more function. The first call registers `ops`. */
int ntrace_ftrace_add(struct ftrace_ops *ops, char *function)
{
	int error = ftrace_set_filter(ops, function, strlen(function), 0);

	if (!error && !(ops->flags & FTRACE_OPS_FL_ENABLED))
		error = register_ftrace_function(ops);
	if (error)
		pr_err("ntrace: no %s: %d\n", function, error);
	return error;
}

/* Unregisters `ops` if it is registered. */
void ntrace_ftrace_remove(struct ftrace_ops *ops)
{
	if (ops->flags & FTRACE_OPS_FL_ENABLED)
		unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

/*
 * Has the kernel's first function of these names call `code` before anything else. `code` may sleep, and keeps the arguments of the function.
 * An empty name ends the list. Returns an error where the kernel has none of them.
 */
int ntrace_direct_add(struct ftrace_ops *ops, struct ntrace_name *names, unsigned long code)
{
	int error = -ENOENT;

	for (; *names->text && error; names++) {
		error = ftrace_set_filter(ops, names->text, strlen(names->text), 1);
		if (!error)
			error = register_ftrace_direct(ops, code);
	}
	return error;
}

/* Undoes ntrace_direct_add, if that succeeded. */
void ntrace_direct_remove(struct ftrace_ops *ops, unsigned long code)
{
	if (ops->flags & FTRACE_OPS_FL_ENABLED)
		unregister_ftrace_direct(ops, code, true);
}

/* The threads that ftrace led into the module and that may sleep there. */
static atomic_t inside = ATOMIC_INIT(0);

/*
 * The current thread may sleep in the module's code from here on. The module is not unloaded meanwhile: rmmod fails, or, if it had begun
 * before the call, waits in ntrace_ftrace_wait.
 */
void ntrace_enter(void)
{
	__module_get(THIS_MODULE);
	atomic_inc(&inside);
}

/* The current thread leaves the module's code, and sleeps there no more. */
void ntrace_leave(void)
{
	atomic_dec(&inside);
	module_put(THIS_MODULE);
}

/*
 * Waits until no thread is in the module's code to which ftrace led it before the call. A thread that sleeps there ends the wait when the
 * memory for which it waits answers, or when it is killed.
 */
void ntrace_ftrace_wait(void)
{
	/* Each thread that was led here and has not entered yet does so, because it does not sleep before. */
	synchronize_rcu_tasks();
	while (atomic_read(&inside))
		schedule_timeout_uninterruptible(1);
	/* No thread sleeps behind ntrace_leave. */
	synchronize_rcu_tasks();
}
