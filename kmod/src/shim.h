/* SPDX-License-Identifier: GPL-2.0 */
/* Between C and Rust; c.rs has the same for the other side. */
#ifndef NTRACE_SHIM_H
#define NTRACE_SHIM_H

#include <linux/types.h>

struct cred;
struct file;
struct inode;
struct linux_binprm;
struct miscdevice;
struct mm_struct;
struct page;
struct pid_namespace;
struct pt_regs;
struct poll_table_struct;
struct seq_file;
struct task_struct;
struct vm_area_struct;
struct wait_queue_head;

/* In file.rs. */
int ntrace_open(struct inode *inode, struct file *file);
int ntrace_release(struct inode *inode, struct file *file);
ssize_t ntrace_read(struct file *file, char __user *to, size_t size, loff_t *at);
ssize_t ntrace_write(struct file *file, const char __user *from, size_t size, loff_t *at);
__poll_t ntrace_poll(struct file *file, struct poll_table_struct *table);
int ntrace_mmap(struct file *file, struct vm_area_struct *vma);
void ntrace_show_fdinfo(struct seq_file *out, struct file *file);

/* In shim.c. */
extern struct miscdevice ntrace_device;
void *ntrace_file_private(const struct file *file);
const struct cred *ntrace_file_cred(const struct file *file);
void ntrace_cred_put(const struct cred *cred);
void ntrace_file_begin(struct file *file, void *session);
bool ntrace_file_waits(const struct file *file);
void ntrace_poll_wait(struct file *file, struct wait_queue_head *queue, struct poll_table_struct *table);
void ntrace_wait_init(struct wait_queue_head *queue);
int ntrace_wait(struct wait_queue_head *queue, const unsigned long *count, unsigned long least, unsigned long most);
bool ntrace_killed(void);
void ntrace_wait_killable(struct wait_queue_head *queue, const unsigned long *count, unsigned long least);
unsigned long ntrace_ring_size(const struct vm_area_struct *vma);
void *ntrace_ring_make(unsigned long size);
int ntrace_ring_map(struct vm_area_struct *vma, void *ring);

int ntrace_memory_begin(void);
void ntrace_memory_end(void);
struct pid_namespace *ntrace_namespace(void);
struct file *ntrace_memory_open(const struct cred *cred, struct pid_namespace *namespace, int process);
long ntrace_memory_read(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size, bool locked);
long ntrace_memory_write(struct mm_struct *mm, unsigned long at, const void *bytes, unsigned long size);
long ntrace_memory_mappings(struct mm_struct *mm, u64 *words, unsigned long most);

struct ntrace_patch {
	u64 address;
	u8 old[4];
	u8 new[4];
	u32 done;
	u32 restores;
};
long ntrace_memory_patch(struct mm_struct *mm, struct ntrace_patch *patches, unsigned long count, unsigned long size);
void ntrace_memory_work(void (*function)(void *data), void *data);
void ntrace_memory_hold(struct mm_struct *mm);
void ntrace_memory_drop(struct mm_struct *mm);
bool ntrace_memory_keep(struct mm_struct *mm);
void ntrace_memory_leave(struct mm_struct *mm);
void ntrace_memory_growth(struct mm_struct *mm, u64 *heap, u64 *brk, u64 *stack);
long ntrace_memory_map(struct mm_struct *mm, unsigned long at, unsigned long size, unsigned long protection);
long ntrace_memory_unmap(struct mm_struct *mm, unsigned long at, unsigned long size);

/* In threads.c. */
int ntrace_thread_number(struct task_struct *thread, struct pid_namespace *namespace);
bool ntrace_thread_leads(void);
void ntrace_thread_call_this(void);
bool ntrace_thread_is_signalled(void);
size_t ntrace_registers_get(void *registers, size_t size);
unsigned long ntrace_threads_list(struct mm_struct *mm, struct pid_namespace *namespace, u64 *numbers, unsigned long most);
bool ntrace_thread_call(struct mm_struct *mm, struct pid_namespace *namespace, int number);
void ntrace_threads_forget(void);
void ntrace_threads_visit(struct mm_struct *mm, void (*look)(struct pt_regs *registers, void *data), void *data);

/* In lives.c. */
struct ntrace_life;
int ntrace_life_begin(struct pid_namespace *namespace, int process, struct mm_struct *mm, void *watch,
		      struct ntrace_life **place);
void ntrace_life_end(struct ntrace_life **place);
void ntrace_life_join(struct ntrace_life **place);
void ntrace_life_kill(struct ntrace_life **place);
void *ntrace_life_due(bool *is_guest);
void ntrace_executed(void *data, struct task_struct *task, pid_t before, struct linux_binprm *program);
void ntrace_exited(void);

/* In lives.rs. */
void ntrace_watch_hold(void *watch);
void ntrace_thread_ended(void *watch);
void ntrace_ended(void *watch, int status);
int ntrace_born(struct mm_struct *mm, struct task_struct *thread);
int ntrace_forked(struct mm_struct *parent, struct mm_struct *child);
void ntrace_begun(struct pt_regs *registers, struct mm_struct *mm);

/* In uprobes.c. */
int ntrace_uprobes_begin(void);
void ntrace_uprobes_end(void);
bool ntrace_uprobes_are_in(struct mm_struct *mm);
bool ntrace_uprobes_call(struct mm_struct *mm, const u8 *instruction, unsigned long length);
/* Whether some have come or gone of which breakpoints are not told yet, and waits for that. */
bool ntrace_uprobes_change(void);
void ntrace_uprobes_wait(void);
void ntrace_uprobes_last(struct mm_struct *mm, unsigned long at, u8 *bytes);
void ntrace_uprobes_leave(struct mm_struct *mm, unsigned long at);

/* In probed.rs. */
bool ntrace_is_traced(struct mm_struct *mm);
bool ntrace_is_alone(struct mm_struct *mm, unsigned long at);
void ntrace_probed(struct mm_struct *mm, unsigned long at, const u8 *bytes);

/* In user.c. */
int ntrace_user_count(unsigned long at, u64 *value);
bool ntrace_user_get(void *to, unsigned long from, size_t size);
unsigned long ntrace_user_write(unsigned long to, const void *from, unsigned long size);
unsigned long ntrace_user_copy(void *to, unsigned long from, unsigned long size);

/* In hooks.c. */
int ntrace_hooks_begin(void);
void ntrace_hooks_end(void);
struct ftrace_ops;
/* Registers what is not yet, and has it called for one more function. */
int ntrace_divert(struct ftrace_ops *ops, char *function);
void ntrace_divert_no_more(struct ftrace_ops *ops);
void ntrace_spaces_lock(void);
void ntrace_spaces_unlock(void);
void ntrace_read_lock(void);
void ntrace_read_unlock(void);

/*
 * In hit.rs. What a hit was; from NTRACE_LATER on it has to wait, and so many breakpoints have counted it: with NTRACE_AGAIN all. The
 * last is somebody else's trap, which waits for the same way to user mode; while uprobes have it NTRACE_UPROBE is left of it on x86.
 */
enum { NTRACE_FOREIGN, NTRACE_PASSED, NTRACE_SINGLE_STEP, NTRACE_UPROBE, NTRACE_LATER, NTRACE_AGAIN = 999, NTRACE_OTHERS };
int ntrace_hit(struct pt_regs *registers, struct mm_struct *mm);
int ntrace_hit_waiting(struct pt_regs *registers, struct mm_struct *mm, int counted);
void ntrace_come_again(struct pt_regs *registers, struct mm_struct *mm);
/* Why the registers are going to be seen. */
enum { NTRACE_STOP, NTRACE_SIGNAL, NTRACE_FAULT };
void __user *ntrace_seen(struct pt_regs *registers, struct mm_struct *mm, void __user *address, int why);
void ntrace_called(struct pt_regs *registers, struct mm_struct *mm);

/* In trap.c of each architecture. */
int ntrace_trap_begin(void);
void ntrace_trap_end(void);
/* What a trap left for the thread's way to user mode: nothing, or the answer of ntrace_hit. It lies in the frame of the trap. */
bool ntrace_trap_clones(const struct pt_regs *registers);
int ntrace_trap_left(const struct pt_regs *registers);
void ntrace_trap_leave(struct pt_regs *registers, int left);

/* In hooks.c. Has uprobes look at a trap; not where the process has none. */
void ntrace_raise(const struct pt_regs *registers, int code);
bool ntrace_hand_over(struct pt_regs *registers);

/* In trap.c of x86. */
bool ntrace_memory_is_narrow(const struct mm_struct *mm);
bool ntrace_cpu_is_amd(void);
unsigned long ntrace_cpu_address_bits(void);
unsigned long ntrace_base(bool gs);

/* In page.c of each architecture. */
void ntrace_page_write(struct vm_area_struct *vma, struct page *page, unsigned long at,
		       void *to, const void *from, unsigned long count);

#endif
