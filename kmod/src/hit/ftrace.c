// SPDX-License-Identifier: GPL-2.0
/* Callbacks of ftrace for functions of the kernel. In C for struct ftrace_ops. */
#include <linux/ftrace.h>

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
