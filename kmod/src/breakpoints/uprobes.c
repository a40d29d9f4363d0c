// SPDX-License-Identifier: GPL-2.0
/*
 * Uprobes that come and go in traced processes, some of them where breakpoints are. In C for ftrace and structures of uprobes.
 *
 * A breakpoint knows what stands at its place without it, which uprobes change: by set_swbp and set_orig_insn, which are called where
 * nothing may wait for breakpoints. It is told by work that is done later, and until then its hits wait, as does who changes the uprobe.
 * With a uprobe of another process uprobes take the breakpoint instruction out of each that ever had one: ours stays.
 */
#include <linux/build_bug.h>
#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>

#include "../shim.h"

struct change {
	struct list_head node;
	struct mm_struct *mm;
	unsigned long at;
	/* What stands there then. */
	uprobe_opcode_t bytes;
};

static LIST_HEAD(changes);
static DEFINE_SPINLOCK(lock);
/* Those that are noted and not done. */
static atomic_t count;

/* Flags are a number in Linux 6.12, and a bitmap in a structure in newer kernels. */
bool ntrace_uprobes_used(struct mm_struct *mm)
{
	return test_bit(MMF_HAS_UPROBES, (unsigned long *)&mm->flags);
}

bool ntrace_uprobes_pending(void)
{
	return atomic_read(&count);
}

static void work(struct work_struct *work)
{
	struct change *change;

	for (;;) {
		spin_lock(&lock);
		change = list_first_entry_or_null(&changes, struct change, node);
		spin_unlock(&lock);
		if (!change)
			return;
		ntrace_uprobe_changed(change->mm, change->at, (const u8 *)&change->bytes);
		spin_lock(&lock);
		list_del(&change->node);
		spin_unlock(&lock);
		mmdrop(change->mm);
		kfree(change);
		atomic_dec(&count);
	}
}

static DECLARE_WORK(worker, work);

void ntrace_uprobes_flush(void)
{
	if (ntrace_uprobes_pending())
		flush_work(&worker);
}

/* What stands at a place without a breakpoint, where it was changed; called with the lock of mappings held. */
void ntrace_uprobes_original(struct mm_struct *mm, unsigned long at, u8 *bytes)
{
	struct change *change;

	spin_lock(&lock);
	list_for_each_entry(change, &changes, node)
		if (change->mm == mm && change->at == at)
			memcpy(bytes, &change->bytes, sizeof(change->bytes));
	spin_unlock(&lock);
}

static void note(struct mm_struct *mm, unsigned long at, const void *bytes)
{
	struct change *change = kmalloc(sizeof(*change), GFP_ATOMIC);

	if (!change)
		return;
	mmgrab(mm);
	change->mm = mm;
	change->at = at;
	memcpy(&change->bytes, bytes, sizeof(change->bytes));
	atomic_inc(&count);
	spin_lock(&lock);
	list_add_tail(&change->node, &changes);
	spin_unlock(&lock);
	queue_work(system_unbound_wq, &worker);
	if (!(current->flags & PF_KTHREAD))
		set_thread_flag(TIF_UPROBE);
}

/* What ftrace gives has no types. Both functions take a memory in Linux 6.12, and one of its mappings in newer kernels. */
typedef int takes_mapping(struct arch_uprobe *, struct vm_area_struct *, unsigned long);
typedef int takes_memory(struct arch_uprobe *, struct mm_struct *, unsigned long);
static_assert(__same_type(set_swbp, takes_mapping) || __same_type(set_swbp, takes_memory));
static_assert(__same_type(set_orig_insn, set_swbp));

static __always_inline struct mm_struct *memory_of(void *argument)
{
	return __same_type(set_swbp, takes_mapping) ? ((struct vm_area_struct *)argument)->vm_mm : argument;
}

static const uprobe_opcode_t theirs = UPROBE_SWBP_INSN;

/* Called with the lock of the memory's mappings held. */
static void notrace comes(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct mm_struct *mm = memory_of((void *)ftrace_regs_get_argument(fregs, 1));

	if (ntrace_is_traced(mm))
		note(mm, ftrace_regs_get_argument(fregs, 2), &theirs);
}

/* Behind the first instruction of set_orig_insn, by which it was diverted. */
static unsigned long body;

/* Goes on there: called by a pointer, as the compiler is not to know what it does. */
static int ntrace_restore(struct arch_uprobe *uprobe, void *memory, unsigned long at)
{
	return 0;
}

static typeof(&ntrace_restore) stand_in = ntrace_restore;

/* In place of set_orig_insn, in a traced process; may sleep. */
static int restore(struct arch_uprobe *uprobe, void *memory, unsigned long at)
{
	struct mm_struct *mm = memory_of(memory);
	uprobe_opcode_t last = 0;
	int error = 0;

	ntrace_uprobes_original(mm, at, (u8 *)&last);
	if (last == theirs || !ntrace_has_only_breakpoint(mm, at)) {
		note(mm, at, &uprobe->insn);
		error = READ_ONCE(stand_in)(uprobe, memory, at);
	}
	module_put(THIS_MODULE);
	return error;
}

static void notrace goes(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (!ntrace_is_traced(memory_of((void *)ftrace_regs_get_argument(fregs, 1))))
		return;
	/* There is a session yet. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(body, ip + MCOUNT_INSN_SIZE);
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)restore);
}

static void notrace go_on(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	ftrace_regs_set_instruction_pointer(fregs, READ_ONCE(body));
}

static struct ftrace_ops coming = {
	.func = comes,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

static struct ftrace_ops going = {
	.func = goes,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static struct ftrace_ops going_on = {
	.func = go_on,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

#ifdef UPROBES_CALL
/*
 * After its first hit newer kernels of x86-64 make two instructions of a uprobe whose own is a no-operation of ten bytes, the second one
 * a call. In a traced process none becomes so, as it would be written over a breakpoint; where it is so, there is none.
 */
static void as_it_is(void)
{
}

static void notrace becomes_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (ntrace_is_traced(current->mm))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)as_it_is);
}

static struct ftrace_ops becoming_call = {
	.func = becomes_call,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static int calls_begin(void)
{
	char optimize[] = "arch_uprobe_optimize";

	return ntrace_ftrace_add(&becoming_call, optimize);
}

static void calls_end(void)
{
	ntrace_ftrace_remove(&becoming_call);
}

/* Whether an instruction is the first of the two. */
bool ntrace_uprobes_is_call(struct mm_struct *mm, const u8 *instruction, unsigned long length)
{
	/* lea -0x80(%rsp),%rsp */
	static const u8 first[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };

	return length == sizeof(first) && !memcmp(instruction, first, sizeof(first)) && ntrace_uprobes_used(mm);
}
#else
static int calls_begin(void)
{
	return 0;
}

static void calls_end(void)
{
}
#endif

int ntrace_uprobes_init(void)
{
	char set_swbp[] = "set_swbp", set_orig_insn[] = "set_orig_insn", restore[] = "ntrace_restore";

	return ntrace_ftrace_add(&coming, set_swbp) ?: ntrace_ftrace_add(&going_on, restore) ?:
		ntrace_ftrace_add(&going, set_orig_insn) ?: calls_begin();
}

void ntrace_uprobes_exit(void)
{
	calls_end();
	ntrace_ftrace_remove(&coming);
	ntrace_ftrace_remove(&going);
	ntrace_ftrace_remove(&going_on);
	flush_work(&worker);
}

struct handed {
	unsigned long at;
	bool found;
};

static void look(struct pt_regs *registers, void *data)
{
	struct handed *handed = data;
	int left = ntrace_trap_pending(registers);

	if ((left == NTRACE_OTHERS || left == NTRACE_UPROBE) && instruction_pointer(registers) == handed->at)
		handed->found = true;
}

/*
 * Returns when no thread that came by a place, and stands at `at` by that, is on its way to uprobes or with them: what they do not know
 * they take for the program's own.
 */
void ntrace_uprobes_drain(struct mm_struct *mm, unsigned long at)
{
	struct handed handed = { .at = at };

	do {
		handed.found = false;
		ntrace_threads_visit(mm, look, &handed);
	} while (handed.found && !schedule_timeout_uninterruptible(1));
}
