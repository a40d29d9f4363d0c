// SPDX-License-Identifier: GPL-2.0
/*
 * Watchpoints of debuggees, each in a debug register of every thread. In C for perf events and lists.
 *
 * On x86 the processor tells of an access after it was made. On arm64 it does so before, and the instruction would have to be passed by a
 * single step, which the module does not make.
 */
#include <linux/hw_breakpoint.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../shim.h"

/* Threads of a process at most that has watchpoints: the kernel does not charge their perf events to anybody. */
enum { MOST = 1024 };

/* A watchpoint, and its debug register in each thread. The attachment has a lock for it. */
struct ntrace_watch {
	u64 address, length, access;
	struct list_head threads;
	unsigned int count;
};

struct observed {
	struct list_head node;
	struct task_struct *thread;
	struct perf_event *event;
	bool hit;
};

/* Called where the current thread, or the kernel for it, has accessed the memory. */
static void triggered(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *registers)
{
	struct observed *observed = event->overflow_handler_context;

	WRITE_ONCE(observed->hit, true);
	set_thread_flag(TIF_UPROBE);
}

/* A watchpoint of no thread. NULL: no memory. */
struct ntrace_watch *ntrace_watch_new(u64 address, u64 length, u64 access)
{
	struct ntrace_watch *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);

	if (!new)
		return NULL;
	*new = (struct ntrace_watch){ .address = address, .length = length, .access = access };
	INIT_LIST_HEAD(&new->threads);
	return new;
}

static void forget(struct ntrace_watch *watch, struct observed *observed)
{
	list_del(&observed->node);
	unregister_hw_breakpoint(observed->event);
	put_task_struct(observed->thread);
	kfree(observed);
	watch->count--;
}

/* The kernel's types of the accesses (access in wire/src/commands.rs). */
static const u32 types[] = { 0, HW_BREAKPOINT_W, HW_BREAKPOINT_RW, HW_BREAKPOINT_X };

static int add(struct ntrace_watch *watch, struct task_struct *thread)
{
	struct observed *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct perf_event_attr attr;

	if (!new)
		return -ENOMEM;
	hw_breakpoint_init(&attr);
	attr.bp_addr = watch->address;
	attr.bp_len = watch->length;
	attr.bp_type = types[watch->access];
	new->event = register_user_hw_breakpoint(&attr, triggered, new, thread);
	if (IS_ERR(new->event)) {
		int error = PTR_ERR(new->event);

		kfree(new);
		return error;
	}
	new->thread = get_task_struct(thread);
	list_add(&new->node, &watch->threads);
	watch->count++;
	return 0;
}

/* Observes a thread too. Threads that end are forgotten. Returns 0 or an error. */
int ntrace_watch_thread(struct ntrace_watch *watch, struct task_struct *thread)
{
	struct observed *observed, *next;

	list_for_each_entry_safe(observed, next, &watch->threads, node) {
		if (observed->thread == thread)
			return 0;
		if (observed->thread->flags & PF_EXITING)
			forget(watch, observed);
	}
	if (watch->count >= MOST)
		return -ENOSPC;
	return add(watch, thread);
}

/* Observes the current thread too, which is new. */
int ntrace_watch_this(struct ntrace_watch *watch)
{
	return ntrace_watch_thread(watch, current);
}

static int observe(struct task_struct *thread, void *data)
{
	return ntrace_watch_thread(data, thread);
}

/* Observes all threads with this memory. One that is made meanwhile does so itself. */
int ntrace_watch_all(struct ntrace_watch *watch, struct mm_struct *mm)
{
	return ntrace_threads_each(mm, observe, watch);
}

/* Whether the current thread has accessed the memory since the last call. */
bool ntrace_watch_take(struct ntrace_watch *watch)
{
	struct observed *observed;

	list_for_each_entry(observed, &watch->threads, node)
		if (observed->thread == current)
			return xchg(&observed->hit, false);
	return false;
}

/* Does not observe the current thread any more. */
void ntrace_watch_end_this(struct ntrace_watch *watch)
{
	struct observed *observed, *next;

	list_for_each_entry_safe(observed, next, &watch->threads, node)
		if (observed->thread == current)
			forget(watch, observed);
}

void ntrace_watch_free(struct ntrace_watch *watch)
{
	struct observed *observed, *next;

	list_for_each_entry_safe(observed, next, &watch->threads, node)
		forget(watch, observed);
	kfree(watch);
}

/* Whether the module has watchpoints on this kernel and processor. */
bool ntrace_watch_supported(void)
{
	return IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_HAVE_HW_BREAKPOINT);
}
