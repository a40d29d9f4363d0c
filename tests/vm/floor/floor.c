// SPDX-License-Identifier: GPL-2.0
/*
 * The least that a breakpoint instruction of x86 costs: the first notifier of all has the thread go on behind it. For
 * `cargo xtask vm cost` alone.
 */
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/ptrace.h>

static int pass(struct notifier_block *block, unsigned long value, void *data)
{
	const struct die_args *args = data;

	return value == DIE_INT3 && user_mode(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
}

static struct notifier_block first = {
	.notifier_call = pass,
	.priority = INT_MAX,
};

static int __init floor_begin(void)
{
	return register_die_notifier(&first);
}

static void __exit floor_end(void)
{
	unregister_die_notifier(&first);
}

module_init(floor_begin);
module_exit(floor_end);
MODULE_DESCRIPTION("Passes breakpoint instructions over");
MODULE_LICENSE("GPL");
