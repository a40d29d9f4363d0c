/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What C and Rust call of each other, and what both know. ffi.rs declares the functions of C for Rust; numbers and structures come to
 * Rust by layout.c.
 */
#ifndef NTRACE_SHIM_H
#define NTRACE_SHIM_H

#include <linux/types.h>

struct cred;
struct file;
struct ftrace_ops;
struct inode;
struct linux_binprm;
struct mem_cgroup;
struct mm_struct;
struct mutex;
struct page;
struct pid_namespace;
struct poll_table_struct;
struct pt_regs;
struct seq_file;
struct task_struct;
struct vm_area_struct;
struct wait_queue_head;

/* device/file_operations.rs */
int ntrace_open(struct inode *inode, struct file *file);
int ntrace_release(struct inode *inode, struct file *file);
ssize_t ntrace_read(struct file *file, char __user *to, size_t size, loff_t *at);
ssize_t ntrace_write(struct file *file, const char __user *from, size_t size, loff_t *at);
__poll_t ntrace_poll(struct file *file, struct poll_table_struct *table);
int ntrace_mmap(struct file *file, struct vm_area_struct *vma);
void ntrace_show_fdinfo(struct seq_file *out, struct file *file);

/* device/device.c */
int ntrace_device_add(void);
void ntrace_device_remove(void);
void *ntrace_file_private(const struct file *file);
const struct cred *ntrace_file_cred(const struct file *file);
void ntrace_cred_put(const struct cred *cred);
void ntrace_file_open(struct file *file, void *session);
bool ntrace_file_blocks(const struct file *file);
void ntrace_poll_wait(struct file *file, struct wait_queue_head *queue, struct poll_table_struct *table);
void ntrace_wait_init(struct wait_queue_head *queue);
int ntrace_wait(struct wait_queue_head *queue, const unsigned long *count, unsigned long least, unsigned long most);
void ntrace_wait_killable(struct wait_queue_head *queue, const unsigned long *count, unsigned long least);
void ntrace_wait_change(struct wait_queue_head *queue, const unsigned long *count, unsigned long known, int moments);
void ntrace_wait_below(struct wait_queue_head *queue, const unsigned long *count, unsigned long most, const unsigned long *other);
void ntrace_wait_none(struct wait_queue_head *queue, const unsigned long *count, int seconds);
bool ntrace_is_killed(void);
unsigned long ntrace_ring_size(const struct vm_area_struct *vma);
void *ntrace_ring_alloc(unsigned long size);
int ntrace_ring_map(struct vm_area_struct *vma, void *ring);

/* mm/remote.c */
struct ntrace_job;

struct ntrace_patch {
	u64 address;
	u8 old[4];
	u8 new[4];
	u32 done;
	u32 restores;
};

int ntrace_proc_mount(void);
void ntrace_proc_unmount(void);
struct pid_namespace *ntrace_namespace_get(void);
struct file *ntrace_memory_open(const struct cred *cred, struct pid_namespace *namespace, int process);
long ntrace_memory_read(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size, bool locked);
long ntrace_memory_read_kept(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size);
long ntrace_memory_write(struct mm_struct *mm, unsigned long at, const void *bytes, unsigned long size);
long ntrace_memory_patch(struct mm_struct *mm, struct ntrace_patch *patches, unsigned long count, unsigned long size);
long ntrace_memory_mappings(struct mm_struct *mm, u64 *words, unsigned long most);
void ntrace_memory_growth(struct mm_struct *mm, u64 *heap, u64 *brk, u64 *stack);
long ntrace_memory_map(struct mm_struct *mm, unsigned long at, unsigned long size, unsigned long protection);
long ntrace_memory_unmap(struct mm_struct *mm, unsigned long at, unsigned long size);
void ntrace_mm_grab(struct mm_struct *mm);
void ntrace_mm_drop(struct mm_struct *mm);
bool ntrace_mm_get(struct mm_struct *mm);
void ntrace_mm_put(struct mm_struct *mm);
void ntrace_work_run(void (*function)(void *data), void *data);
struct ntrace_job *ntrace_job_new(void);
void ntrace_job_queue(struct ntrace_job *job, void (*function)(void *data), void *data);
void ntrace_job_free(struct ntrace_job *job);
void ntrace_sort_counts(u64 *counts, unsigned long count);
int ntrace_jobs_init(void);
void ntrace_jobs_exit(void);

/* mm/current.c */
int ntrace_user_count(unsigned long at, u64 *value);
bool ntrace_user_get(void *to, unsigned long from, size_t size);
unsigned long ntrace_user_write(unsigned long to, const void *from, unsigned long size);
const struct mm_struct *ntrace_memory_of_this(void);
unsigned long ntrace_user_copy(void *to, unsigned long from, unsigned long size);
void ntrace_atomic_begin(void);
void ntrace_atomic_end(void);

/* mm/lock.c */
void ntrace_lock_init(struct mutex *lock);
void ntrace_outer_lock_init(struct mutex *lock);
bool ntrace_lock(struct mutex *lock);
bool ntrace_try_lock(struct mutex *lock);
void ntrace_unlock(struct mutex *lock);

/* mm/account.c */
struct mem_cgroup *ntrace_account_get(void);
void ntrace_account_put(struct mem_cgroup *account);
struct mem_cgroup *ntrace_account_use(struct mem_cgroup *account);

/* thread/threads.c */
struct ntrace_limits {
	/* The credentials of a thread, with a reference. */
	const struct cred *cred;
	/* Pages, by RLIMIT_AS, RLIMIT_DATA and RLIMIT_MEMLOCK. */
	unsigned long all, data, locked;
};

bool ntrace_limits_of(struct mm_struct *mm, struct ntrace_limits *limits);
int ntrace_thread_number(struct task_struct *thread, struct pid_namespace *namespace);
bool ntrace_thread_is_leader(void);
bool ntrace_thread_is_signalled(void);
bool ntrace_thread_notify(struct mm_struct *mm, struct pid_namespace *namespace, int number);
void ntrace_thread_notify_this(void);
unsigned long ntrace_threads_list(struct mm_struct *mm, struct pid_namespace *namespace, u64 *numbers, unsigned long most);
bool ntrace_threads_visit(struct mm_struct *mm, void (*look)(struct pt_regs *registers, void *data, bool done), void *data);
void ntrace_threads_synchronize(struct mm_struct *mm);
void ntrace_thread_returns(void);
void ntrace_thread_made(struct task_struct *thread);
void ntrace_threads_clear(void);
void ntrace_threads_tell_syscalls(struct mm_struct *mm);
int ntrace_threads_each(struct mm_struct *mm, int (*each)(struct task_struct *thread, void *data), void *data);
size_t ntrace_registers_get(void *registers, size_t size);

/* process/lifecycle.c */
struct ntrace_life;

void ntrace_table_lock(void);
void ntrace_table_unlock(void);
int ntrace_life_add(struct pid_namespace *namespace, int process, struct mm_struct *mm, const void *attachment,
		    struct ntrace_life **life);
void ntrace_life_remove(struct ntrace_life **life);
void ntrace_life_add_guest(struct ntrace_life **life);
void ntrace_life_kill(struct ntrace_life **life);
void *ntrace_life_take_executed(bool *is_guest);
void ntrace_executed(void *data, struct task_struct *task, pid_t before, struct linux_binprm *program);
void ntrace_exited(void);

/* follow/follow.c */
struct ntrace_follow;

struct ntrace_follow *ntrace_follow_add(const struct cred *opener, u64 id, const void *follow, unsigned long most, int *error);
void ntrace_follow_remove(struct ntrace_follow *follow);
void *ntrace_follow_next(u64 *id);
bool ntrace_follow_executed(void);
void ntrace_follow_forget(void);
bool ntrace_follow_take_newcomer(void);
size_t ntrace_follow_program(char *buffer);
bool ntrace_follow_is_user(const struct cred *opener, u64 user);
bool ntrace_follow_is_in_group(u64 id);
bool ntrace_follow_is_in_namespace(u64 number);

/* follow/rule.rs */
void ntrace_follow_get(const void *follow);

/* process/lifecycle.rs */
void ntrace_attachment_get(const void *attachment);
void ntrace_thread_ended(const void *attachment);
void ntrace_process_ended(const void *attachment, int status);
int ntrace_thread_created(struct mm_struct *mm, struct task_struct *thread);
int ntrace_forked(struct mm_struct *parent, struct mm_struct *child);
void ntrace_first_return(struct pt_regs *registers, struct mm_struct *mm);

/* breakpoints/uprobes.c */
int ntrace_uprobes_init(void);
void ntrace_uprobes_exit(void);
bool ntrace_uprobes_used(struct mm_struct *mm);
bool ntrace_uprobes_is_call(struct mm_struct *mm, const u8 *instruction, size_t length);
bool ntrace_uprobes_pending(struct mm_struct *mm);
void ntrace_uprobes_flush(void);
void ntrace_uprobes_original(struct mm_struct *mm, unsigned long at, u8 *bytes);

/* breakpoints/uprobes.rs */
bool ntrace_is_traced(struct mm_struct *mm);
bool ntrace_has_only_breakpoint(struct mm_struct *mm, unsigned long at);
void ntrace_uprobe_changed(struct mm_struct *mm, unsigned long at, const u8 *bytes);
int ntrace_handed(struct mm_struct *mm);
void ntrace_handed_back(struct mm_struct *mm, int turn);

/* report/syscalls.c */
struct ntrace_syscall {
	u64 number, machine, result, handled, arguments[6];
	u64 entering;
};

void ntrace_syscalls_init(void);
void ntrace_syscalls_exit(void);
bool ntrace_syscalls_supported(void);
void ntrace_syscalls_this(void);
void ntrace_syscalls_of(struct task_struct *thread);
void ntrace_syscalls_clear(struct task_struct *thread);
void ntrace_syscall_entering(struct pt_regs *registers);
void ntrace_syscall_leaving(struct pt_regs *registers);

/* report/signals.c */

/* Bytes of struct kernel_siginfo. */
enum { NTRACE_SIGINFO = 48 };

/* Whether an interrupted system call is made once more. */
enum { NTRACE_NO_RESTART, NTRACE_RESTART, NTRACE_RESTART_BEHIND_HANDLER };

int ntrace_signal_next(u64 *told, void *info);
int ntrace_signal_handled(void);
int ntrace_signal_restarts(long error);
void ntrace_signal_drop(int number);
void ntrace_signal_send(int number);

/* report/watch.c */
struct ntrace_watch;

struct ntrace_watch *ntrace_watch_new(u64 address, u64 length, u64 access);
int ntrace_watch_thread(struct ntrace_watch *watch, struct task_struct *thread);
int ntrace_watch_all(struct ntrace_watch *watch, struct mm_struct *mm);
int ntrace_watch_this(struct ntrace_watch *watch);
void ntrace_watch_end_this(struct ntrace_watch *watch);
bool ntrace_watch_take(struct ntrace_watch *watch);
void ntrace_watch_free(struct ntrace_watch *watch);
bool ntrace_watch_supported(void);

/* report/accesses.rs */
void ntrace_watched(struct pt_regs *registers, struct mm_struct *mm);

/* report/syscalls.rs */
void ntrace_syscall_begins(struct pt_regs *registers, struct mm_struct *mm);
void ntrace_syscall_restarts(struct pt_regs *registers, struct mm_struct *mm, int when);
void ntrace_syscall_is_back(struct pt_regs *registers, struct mm_struct *mm);
bool ntrace_wants_syscalls(struct mm_struct *mm);
void ntrace_syscall(struct pt_regs *registers, struct mm_struct *mm, const struct ntrace_syscall *call);

/* report/signals.rs */
bool ntrace_wants_signals(struct mm_struct *mm);
void ntrace_signals(struct pt_regs *registers, struct mm_struct *mm);

/* arch/ARCH/direct.c */
void ntrace_direct_syscall_entry(void);
void ntrace_direct_syscall_exit(void);
void ntrace_direct_signals(void);

/* hit/hooks.c */
void ntrace_signals_looked_for(void);
int ntrace_hooks_init(void);
void ntrace_hooks_exit(void);
int ntrace_trap_kind(const struct pt_regs *registers);
void ntrace_trap_hand(struct pt_regs *registers);
int ntrace_trap_finish(struct pt_regs *registers);
void ntrace_raise_sigtrap(const struct pt_regs *registers, int code);
bool ntrace_hand_to_uprobes(struct pt_regs *registers);

/* hit/ftrace.c */
int ntrace_ftrace_add(struct ftrace_ops *ops, char *function);
/* The name of a function of the kernel. */
struct ntrace_name {
	char text[24];
};

int ntrace_direct_add(struct ftrace_ops *ops, struct ntrace_name *names, unsigned long code);
void ntrace_direct_remove(struct ftrace_ops *ops, unsigned long code);
void ntrace_ftrace_remove(struct ftrace_ops *ops);
void ntrace_enter(void);
void ntrace_leave(void);
void ntrace_ftrace_wait(void);

/*
 * What became of a hit. The frame of a trap keeps these numbers until the thread returns to user mode.
 *
 * From NTRACE_LATER on, the hit has to wait until the thread may sleep; the number of breakpoints that have counted the hit is added.
 * NTRACE_AGAIN stands for a hit that all breakpoints have counted. NTRACE_OTHERS marks a trap of somebody else, whose handler needs the
 * same return to user mode. On x86, NTRACE_UPROBE replaces that mark while uprobes handle the trap. To both, NTRACE_TURN times the answer of
 * ntrace_handed is added.
 */
enum {
	NTRACE_FOREIGN, NTRACE_PASSED, NTRACE_SINGLE_STEP, NTRACE_UPROBE, NTRACE_LATER, NTRACE_AGAIN = 999, NTRACE_OTHERS,
	NTRACE_TURN = 1024
};

/* Why the registers are about to be seen: a stop without a signal, a signal, or a signal of a fault. */
enum { NTRACE_STOP, NTRACE_SIGNAL, NTRACE_FAULT };

/* hit/hit.rs */
int ntrace_hit(struct pt_regs *registers, struct mm_struct *mm);
int ntrace_hit_sleeping(struct pt_regs *registers, struct mm_struct *mm, int counted, unsigned long *changes);
void ntrace_hit_again(struct pt_regs *registers, struct mm_struct *mm, int answer, unsigned long changes);
void __user *ntrace_registers_seen(struct pt_regs *registers, struct mm_struct *mm, void __user *address, int why);
void ntrace_take_requests(struct pt_regs *registers, struct mm_struct *mm);

/* arch/ARCH/trap.c */
int ntrace_trap_init(void);
void ntrace_trap_exit(void);
bool ntrace_trap_is_clone(const struct pt_regs *registers);
int ntrace_trap_pending(const struct pt_regs *registers);
void ntrace_trap_set_pending(struct pt_regs *registers, int pending);
void ntrace_trap_call_again(struct pt_regs *registers, bool is_continued);

/* arch/x86/trap.c */
bool ntrace_memory_is_narrow(const struct mm_struct *mm);
bool ntrace_cpu_is_amd(void);
unsigned long ntrace_cpu_address_bits(void);
unsigned long ntrace_base(bool gs);

/* arch/ARCH/page.c */
void ntrace_page_write(struct vm_area_struct *vma, struct page *page, unsigned long at,
		       void *to, const void *from, unsigned long count);

#endif
