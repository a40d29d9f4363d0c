// SPDX-License-Identifier: GPL-2.0
/*
 * Uprobes that are added and removed in traced processes, some of them at breakpoints' addresses. In C for ftrace and structures of
 * uprobes.
 *
 * A breakpoint's entry has the instruction that memory would hold without it. Uprobes change that instruction in set_swbp and
 * set_orig_insn, which must not wait for the lock of breakpoints. A worker updates the entry later; until then hits wait, and so does, for a
 * while, the thread that changes the uprobe. When a uprobe of another process is removed, uprobes restore the instruction in every process
 * that ever had it; breakpoint instructions of the module stay.
 */
#include <linux/build_bug.h>
#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uprobes.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../shim.h"

struct change {
	struct list_head node;
	unsigned long at;
	/* The bytes there without breakpoints, after the change. */
	uprobe_opcode_t bytes;
};

/* The changes in one memory, which one worker makes in their order. A memory that does not answer holds up no other one's changes. */
struct queue {
	struct list_head node;
	struct mm_struct *mm;
	struct list_head changes;
	struct work_struct worker;
};

/* A memory has a queue as long as it has changes to make. */
static LIST_HEAD(queues);
/* Guards the list and the queues in it. */
static DEFINE_SPINLOCK(lock);
static struct workqueue_struct *workers;
/* Woken when a queue is done. */
static DECLARE_WAIT_QUEUE_HEAD(done);

/* Whether the process has ever had a uprobe. The flags are a number in Linux 6.12, and a bitmap in a structure in newer kernels. */
bool ntrace_uprobes_used(struct mm_struct *mm)
{
	return test_bit(MMF_HAS_UPROBES, (unsigned long *)&mm->flags);
}

/* The queue of a memory, if it has one. The caller holds the lock. */
static struct queue *queue_of(struct mm_struct *mm)
{
	struct queue *queue;

	list_for_each_entry(queue, &queues, node)
		if (queue->mm == mm)
			return queue;
	return NULL;
}

/* Whether a worker has changes to make in a memory. */
bool ntrace_uprobes_pending(struct mm_struct *mm)
{
	bool pending;

	if (list_empty(&queues))
		return false;
	spin_lock(&lock);
	pending = queue_of(mm);
	spin_unlock(&lock);
	return pending;
}

static void work(struct work_struct *work)
{
	struct queue *queue = container_of(work, struct queue, worker);
	struct change *change;

	for (;;) {
		spin_lock(&lock);
		change = list_first_entry_or_null(&queue->changes, struct change, node);
		if (!change)
			list_del(&queue->node);
		spin_unlock(&lock);
		if (!change)
			break;
		ntrace_uprobe_changed(queue->mm, change->at, (const u8 *)&change->bytes);
		spin_lock(&lock);
		list_del(&change->node);
		spin_unlock(&lock);
		kfree(change);
	}
	wake_up_all(&done);
	mmdrop(queue->mm);
	kfree(queue);
}

/* How long a thread that adds or removes uprobes in other processes waits for their workers at most. */
enum { PATIENCE = HZ };

/*
 * Waits until a worker has made the present changes in the memory of the current thread. A thread that adds or removes uprobes in other
 * processes waits for the changes there, for a while. SIGKILL ends both.
 */
void ntrace_uprobes_flush(void)
{
	if (list_empty(&queues))
		return;
	if (ntrace_is_traced(current->mm))
		(void)wait_event_killable(done, !ntrace_uprobes_pending(current->mm));
	else
		(void)wait_event_killable_timeout(done, list_empty(&queues), PATIENCE);
}

/* Sets `bytes` to those at an address without breakpoints, if a change is pending there. The caller holds mmap_lock. */
void ntrace_uprobes_original(struct mm_struct *mm, unsigned long at, u8 *bytes)
{
	struct change *change;
	struct queue *queue;

	spin_lock(&lock);
	queue = queue_of(mm);
	if (queue)
		list_for_each_entry(change, &queue->changes, node)
			if (change->at == at)
				memcpy(bytes, &change->bytes, sizeof(change->bytes));
	spin_unlock(&lock);
}

/* Notes a change for the worker of a memory. Does not sleep. */
static void note(struct mm_struct *mm, unsigned long at, const void *bytes)
{
	struct queue *new = kmalloc(sizeof(*new), GFP_ATOMIC | __GFP_ACCOUNT), *queue;
	struct change *change = kmalloc(sizeof(*change), GFP_ATOMIC | __GFP_ACCOUNT);

	if (!change || !new) {
		kfree(change);
		kfree(new);
		return;
	}
	change->at = at;
	memcpy(&change->bytes, bytes, sizeof(change->bytes));
	spin_lock(&lock);
	queue = queue_of(mm);
	if (!queue) {
		mmgrab(mm);
		new->mm = mm;
		INIT_LIST_HEAD(&new->changes);
		INIT_WORK(&new->worker, work);
		list_add(&new->node, &queues);
		queue_work(workers, &new->worker);
		swap(queue, new);
	}
	list_add_tail(&change->node, &queue->changes);
	spin_unlock(&lock);
	kfree(new);
	if (!(current->flags & PF_KTHREAD))
		set_thread_flag(TIF_UPROBE);
}

/*
 * ftrace passes arguments without types. The second one of both functions is a memory in Linux 6.12, and one of its mappings in newer
 * kernels.
 */
typedef int takes_mapping(struct arch_uprobe *, struct vm_area_struct *, unsigned long);
typedef int takes_memory(struct arch_uprobe *, struct mm_struct *, unsigned long);
static_assert(__same_type(set_swbp, takes_mapping) || __same_type(set_swbp, takes_memory));
static_assert(__same_type(set_orig_insn, set_swbp));

static __always_inline struct mm_struct *memory_of(void *argument)
{
	return __same_type(set_swbp, takes_mapping) ? ((struct vm_area_struct *)argument)->vm_mm : argument;
}

static const uprobe_opcode_t theirs = UPROBE_SWBP_INSN;

/* Called for set_swbp: a uprobe is being added. The caller holds mmap_lock. */
static void notrace adding(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct mm_struct *mm = memory_of((void *)ftrace_regs_get_argument(fregs, 1));

	if (ntrace_is_traced(mm))
		note(mm, ftrace_regs_get_argument(fregs, 2), &theirs);
}

/* The address in set_orig_insn behind the call of ftrace. */
static unsigned long body;

/* ftrace redirects it to `body`. It is called through a pointer, because the compiler must not see that it does nothing by itself. */
static int ntrace_restore(struct arch_uprobe *uprobe, void *memory, unsigned long at)
{
	return 0;
}

static typeof(&ntrace_restore) original = ntrace_restore;

/*
 * Called in place of set_orig_insn in a traced process; it may sleep. Memory has a uprobe's instruction if the last pending change is an
 * addition, or if the site has no breakpoint alone.
 */
static int restore(struct arch_uprobe *uprobe, void *memory, unsigned long at)
{
	struct mm_struct *mm = memory_of(memory);
	uprobe_opcode_t last = 0;
	int error = 0;

	ntrace_enter();
	ntrace_uprobes_original(mm, at, (u8 *)&last);
	if (last == theirs || !ntrace_has_only_breakpoint(mm, at)) {
		note(mm, at, &uprobe->insn);
		error = READ_ONCE(original)(uprobe, memory, at);
	}
	ntrace_leave();
	return error;
}

/* Called for set_orig_insn: a uprobe is being removed. */
static void notrace removing(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (!ntrace_is_traced(memory_of((void *)ftrace_regs_get_argument(fregs, 1))))
		return;
	WRITE_ONCE(body, ip + MCOUNT_INSN_SIZE);
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)restore);
}

static void notrace continue_at_body(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	ftrace_regs_set_instruction_pointer(fregs, READ_ONCE(body));
}

static struct ftrace_ops additions = {
	.func = adding,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

static struct ftrace_ops removals = {
	.func = removing,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static struct ftrace_ops continuation = {
	.func = continue_at_body,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

#ifdef UPROBES_CALL
/*
 * After the first hit of a uprobe on a no-operation of ten bytes, newer kernels of x86-64 replace the no-operation by two instructions, the
 * second of which is a call. A breakpoint in these bytes would be overwritten, so it does not happen in a traced process; and where it has
 * happened before, the module refuses a breakpoint.
 */
static void keep_trap(void)
{
}

static void notrace optimizing(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (ntrace_is_traced(current->mm))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)keep_trap);
}

static struct ftrace_ops optimizations = {
	.func = optimizing,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static int calls_init(void)
{
	char optimize[] = "arch_uprobe_optimize";

	return ntrace_ftrace_add(&optimizations, optimize);
}

static void calls_exit(void)
{
	ntrace_ftrace_remove(&optimizations);
}

/* Whether an instruction is the first of these two. */
bool ntrace_uprobes_is_call(struct mm_struct *mm, const u8 *instruction, size_t length)
{
	/* lea -0x80(%rsp),%rsp */
	static const u8 first[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };

	return length == sizeof(first) && !memcmp(instruction, first, sizeof(first)) && ntrace_uprobes_used(mm);
}
#else
static int calls_init(void)
{
	return 0;
}

static void calls_exit(void)
{
}
#endif

int ntrace_uprobes_init(void)
{
	char set_swbp[] = "set_swbp", set_orig_insn[] = "set_orig_insn", restore[] = "ntrace_restore";

	workers = alloc_workqueue("ntrace_uprobes", WQ_UNBOUND, 0);
	if (!workers)
		return -ENOMEM;
	return ntrace_ftrace_add(&additions, set_swbp) ?: ntrace_ftrace_add(&continuation, restore) ?:
		ntrace_ftrace_add(&removals, set_orig_insn) ?: calls_init();
}

void ntrace_uprobes_exit(void)
{
	calls_exit();
	ntrace_ftrace_remove(&additions);
	ntrace_ftrace_remove(&removals);
	ntrace_ftrace_remove(&continuation);
	if (workers)
		destroy_workqueue(workers);
}
