// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of other processes. In C for inline functions (mmget_not_zero, get_user_page_vma_remote, copy_from_user_page, mmap_lock),
 * macros (for_each_vma) and fields of structures.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/userfaultfd_k.h>
#include <linux/workqueue.h>

#include "../shim.h"

/* Only arm64 has guarded pages. */
#ifndef PROT_BTI
#define PROT_BTI 0
#define VM_ARM64_BTI 0
#endif

/* The module's own mount of proc, of the initial PID namespace: names in it are the numbers of pid_nr. */
static struct vfsmount *proc;

int ntrace_proc_mount(void)
{
	struct file_system_type *type = get_fs_type("proc");

	if (!type)
		return -ENODEV;
	/* The mount gets the PID namespace of the process that loads the module. */
	if (current->nsproxy->pid_ns_for_children != &init_pid_ns)
		return -EPERM;
	proc = kern_mount(type);
	return PTR_ERR_OR_ZERO(proc);
}

void ntrace_proc_unmount(void)
{
	kern_unmount(proc);
}

struct pid_namespace *ntrace_namespace_get(void)
{
	return get_pid_ns(task_active_pid_ns(current));
}

/*
 * Opens /proc/PID/mem with `cred`. The open checks what ptrace checks: credentials, LSMs, dumpable, user namespaces. The file keeps the
 * mm_struct that was checked.
 */
struct file *ntrace_memory_open(const struct cred *cred, struct pid_namespace *namespace, int process)
{
	const struct cred *before;
	struct task_struct *task;
	struct file *file;
	struct pid *pid;
	struct path root = { .mnt = proc, .dentry = proc->mnt_root };
	char name[sizeof("2147483647/mem")];

	rcu_read_lock();
	pid = get_pid(find_pid_ns(process, namespace));
	rcu_read_unlock();
	if (!pid)
		return ERR_PTR(-ESRCH);
	/* As ptrace refuses it: a process that holds itself cannot resume itself, and one that kills its debuggees would end itself. */
	if (pid == task_tgid(current)) {
		put_pid(pid);
		return ERR_PTR(-EPERM);
	}
	snprintf(name, sizeof(name), "%d/mem", pid_nr(pid));
	before = override_creds(cred);
	file = file_open_root(&root, name, O_RDWR, 0);
	revert_creds(before);
	/* If the process still exists, no other one can have had its number meanwhile. */
	task = get_pid_task(pid, PIDTYPE_TGID);
	put_pid(pid);
	if (!task) {
		if (!IS_ERR(file))
			fput(file);
		return ERR_PTR(-ESRCH);
	}
	put_task_struct(task);
	return file;
}

/* A page, even one that the process must not write to. get_user_pages would warn of an address below a stack, which has no page. */
static struct page *page_at(struct mm_struct *mm, unsigned long at, int flags, struct vm_area_struct **vma)
{
	return vma_lookup(mm, at) ? get_user_page_vma_remote(mm, at, flags | FOLL_FORCE, vma) : ERR_PTR(-EFAULT);
}

static unsigned long read_pages(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size)
{
	unsigned long done = 0;

	while (done < size) {
		unsigned long offset = offset_in_page(at + done);
		unsigned long count = min(size - done, PAGE_SIZE - offset);
		struct vm_area_struct *vma;
		struct page *page;
		void *mapped;

		page = page_at(mm, at + done, 0, &vma);
		if (IS_ERR(page))
			break;
		mapped = kmap_local_page(page);
		copy_from_user_page(vma, page, at + done, bytes + done, mapped + offset, count);
		kunmap_local(mapped);
		put_page(page);
		done += count;
	}
	return done;
}

/* Returns the number of bytes up to the first that cannot be read. `locked`: the caller holds mmap_lock and is a user of the memory. */
long ntrace_memory_read(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size, bool locked)
{
	long done = -EINTR;

	if (locked)
		return read_pages(mm, at, bytes, size);
	if (!mmget_not_zero(mm))
		return -ESRCH;
	if (!mmap_read_lock_killable(mm)) {
		done = read_pages(mm, at, bytes, size);
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return done;
}

/*
 * Reads memory whose process has ended, by a thread that nothing can kill. The caller is a user of it. Stops at pages of files and of
 * userfaultfd, because these may wait for somebody's answer.
 */
long ntrace_memory_read_kept(struct mm_struct *mm, unsigned long at, void *bytes, unsigned long size)
{
	unsigned long done = 0;

	mmap_read_lock(mm);
	while (done < size) {
		struct vm_area_struct *vma = vma_lookup(mm, at + done);
		unsigned long count;

		if (!vma || !vma_is_anonymous(vma) || userfaultfd_armed(vma))
			break;
		count = min(size - done, vma->vm_end - at - done);
		if (read_pages(mm, at + done, bytes + done, count) < count)
			break;
		done += count;
	}
	mmap_read_unlock(mm);
	return done;
}

/*
 * Writes all bytes, or none if one cannot be written. Returns the number of bytes before that one. A thread that is being killed gets no
 * pages.
 */
long ntrace_memory_write(struct mm_struct *mm, unsigned long at, const void *bytes, unsigned long size)
{
	unsigned long most = DIV_ROUND_UP(offset_in_page(at) + size, PAGE_SIZE), got = 0, done = 0;
	struct page **pages = kvmalloc_array(most, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	struct vm_area_struct *vma;

	if (!pages)
		return -ENOMEM;
	if (!mmget_not_zero(mm)) {
		kvfree(pages);
		return -ESRCH;
	}
	if (mmap_read_lock_killable(mm)) {
		mmput(mm);
		kvfree(pages);
		return -EINTR;
	}
	for (; got < most; got++) {
		pages[got] = page_at(mm, (at & PAGE_MASK) + got * PAGE_SIZE, FOLL_WRITE, &vma);
		if (IS_ERR(pages[got]))
			break;
	}
	for (unsigned long number = 0; number < got; number++) {
		unsigned long offset = offset_in_page(at + done);
		unsigned long count = min(size - done, PAGE_SIZE - offset);
		struct page *page = pages[number];

		if (got == most) {
			void *mapped = kmap_local_page(page);

			vma = vma_lookup(mm, at + done);
			ntrace_page_write(vma, page, at + done, mapped + offset, bytes + done, count);
			kunmap_local(mapped);
			set_page_dirty_lock(page);
		}
		put_page(page);
		done += count;
	}
	mmap_read_unlock(mm);
	mmput(mm);
	kvfree(pages);
	return done;
}

/* Patches that are made before mmap_lock is released for others. */
enum { PATCHES = 256 };

static void patch(struct mm_struct *mm, struct ntrace_patch *patches, unsigned long count, unsigned long size)
{
	struct vm_area_struct *vma = NULL;
	struct page *page = NULL;
	unsigned long at = 0;

	for (; count--; patches++) {
		void *code;

		/* A patch lies in one page: it is a single byte or aligned. */
		if (!page || (patches->address & PAGE_MASK) != at) {
			if (page)
				put_page(page);
			at = patches->address & PAGE_MASK;
			page = page_at(mm, at, FOLL_WRITE, &vma);
			if (IS_ERR(page)) {
				page = NULL;
				continue;
			}
			set_page_dirty_lock(page);
		}
		code = kmap_local_page(page) + offset_in_page(patches->address);
		if (patches->restores && ntrace_uprobes_pending(mm))
			ntrace_uprobes_original(mm, patches->address, patches->new);
		if (!memcmp(code, patches->done ? patches->new : patches->old, size)) {
			ntrace_page_write(vma, page, patches->address, code, patches->new, size);
			patches->done = 1;
		}
		kunmap_local(code);
	}
	if (page)
		put_page(page);
}

static void patch_all(struct mm_struct *mm, struct ntrace_patch *patches, unsigned long count, unsigned long size)
{
	while (count) {
		unsigned long some = min_t(unsigned long, count, PATCHES);

		if (mmap_read_lock_killable(mm))
			break;
		patch(mm, patches, some, size);
		mmap_read_unlock(mm);
		patches += some;
		count -= some;
		cond_resched();
	}
}

/*
 * Makes each patch whose old bytes are in memory, `size` bytes of each. Patches in the order of addresses are the fastest. Afterwards each
 * processor that runs a thread of the process is interrupted, because until then it may execute bytes that it fetched before. The new bytes
 * are written a second time: an emulated processor (QEMU's TCG) may have translated the old bytes while they were replaced, and keeps the
 * translation until it sees another write to the page.
 */
long ntrace_memory_patch(struct mm_struct *mm, struct ntrace_patch *patches, unsigned long count, unsigned long size)
{
	if (!mmget_not_zero(mm))
		return -ESRCH;
	patch_all(mm, patches, count, size);
	ntrace_threads_synchronize(mm);
	patch_all(mm, patches, count, size);
	mmput(mm);
	return 0;
}

/* Writes up to `most` mappings, as start, end, protection and file offset. Returns how many there are. */
long ntrace_memory_mappings(struct mm_struct *mm, u64 *words, unsigned long most)
{
	VMA_ITERATOR(all, mm, 0);
	struct vm_area_struct *vma;
	unsigned long count = 0;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	if (mmap_read_lock_killable(mm)) {
		mmput(mm);
		return -EINTR;
	}
	for_each_vma(all, vma) {
		if (count++ >= most)
			continue;
		*words++ = vma->vm_start;
		*words++ = vma->vm_end;
		*words++ = (vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC)) |
			   (vma->vm_flags & VM_ARM64_BTI ? PROT_BTI : 0);
		*words++ = vma->vm_file ? (u64)vma->vm_pgoff << PAGE_SHIFT : 0;
	}
	mmap_read_unlock(mm);
	mmput(mm);
	return count;
}

void ntrace_mm_grab(struct mm_struct *mm)
{
	mmgrab(mm);
}

void ntrace_mm_drop(struct mm_struct *mm)
{
	mmdrop(mm);
}

/* Becomes a user of the memory, if it still has one. */
bool ntrace_mm_get(struct mm_struct *mm)
{
	return mmget_not_zero(mm);
}

void ntrace_mm_put(struct mm_struct *mm)
{
	mmput(mm);
}

/* The parts that grow: start and end of the heap, and an address in the first stack. */
void ntrace_memory_growth(struct mm_struct *mm, u64 *heap, u64 *brk, u64 *stack)
{
	spin_lock(&mm->arg_lock);
	*heap = mm->start_brk;
	*brk = mm->brk;
	*stack = mm->start_stack;
	spin_unlock(&mm->arg_lock);
}

struct job {
	struct work_struct work;
	void (*function)(void *data);
	void *data;
};

static void do_job(struct work_struct *work)
{
	struct job *job = container_of(work, struct job, work);

	job->function(job->data);
}

/* Calls a function in a kernel thread and waits for it. A thread that is being killed gets no pages of other processes. */
void ntrace_work_run(void (*function)(void *data), void *data)
{
	struct job job = { .function = function, .data = data };

	if (current->flags & PF_WQ_WORKER) {
		function(data);
		return;
	}
	INIT_WORK_ONSTACK(&job.work, do_job);
	queue_work(system_unbound_wq, &job.work);
	flush_work(&job.work);
	destroy_work_on_stack(&job.work);
}

/* A job that goes on in the background. */
struct ntrace_job {
	struct job job;
};

/* The queue of these jobs. Jobs in other queues do not wait for them, because a hostile process may delay each for some seconds. */
static struct workqueue_struct *background;

int ntrace_jobs_init(void)
{
	background = alloc_workqueue("ntrace", WQ_UNBOUND, 0);
	return background ? 0 : -ENOMEM;
}

/* Waits for all jobs. */
void ntrace_jobs_exit(void)
{
	destroy_workqueue(background);
}

static void do_in_background(struct work_struct *work)
{
	struct ntrace_job *job = container_of(work, struct ntrace_job, job.work);

	job->job.function(job->job.data);
	kfree(job);
}

/* Makes a job, so that it can be queued later where no memory may be had. Returns NULL if there is none now. */
struct ntrace_job *ntrace_job_new(void)
{
	return kmalloc(sizeof(struct ntrace_job), GFP_KERNEL_ACCOUNT);
}

void ntrace_job_queue(struct ntrace_job *job, void (*function)(void *data), void *data)
{
	job->job.function = function;
	job->job.data = data;
	INIT_WORK(&job->job.work, do_in_background);
	queue_work(background, &job->job.work);
}

void ntrace_job_free(struct ntrace_job *job)
{
	kfree(job);
}

static int compare(const void *one, const void *other)
{
	u64 a = *(const u64 *)one, b = *(const u64 *)other;

	return a < b ? -1 : a > b;
}

/* Sorts groups of three words by the first. */
void ntrace_sort_counts(u64 *counts, unsigned long count)
{
	sort(counts, count, 3 * sizeof(*counts), compare, NULL);
}

/* A change of mappings. A kernel thread makes it, which borrows the memory. */
struct change {
	struct mm_struct *mm;
	unsigned long at, size, protection;
	bool map;
	long answer;
};

/* What mmap(2) checks by the limits of the calling process. */
static bool is_within(const struct change *change, const struct ntrace_limits *limits)
{
	unsigned long pages = change->size >> PAGE_SHIFT;
	const struct mm_struct *mm = change->mm;

	return mm->total_vm + pages <= limits->all &&
	       (!(change->protection & PROT_WRITE) || mm->data_vm + pages <= limits->data) &&
	       (!(mm->def_flags & VM_LOCKED) || mm->locked_vm + pages <= limits->locked || capable(CAP_IPC_LOCK));
}

/* Maps memory as the process itself would: by its limits and its credentials. The current thread has borrowed the memory. */
static long map(const struct change *change)
{
	unsigned long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, at = -ENOMEM;
	struct ntrace_limits limits;
	const struct cred *before;

	if (!ntrace_limits_of(change->mm, &limits))
		return -ESRCH;
	before = override_creds(limits.cred);
	if (is_within(change, &limits))
		at = vm_mmap(NULL, change->at, change->size, change->protection, flags, 0);
	revert_creds(before);
	put_cred(limits.cred);
	return at == change->at ? 0 : IS_ERR_VALUE(at) ? (long)at : -EEXIST;
}

static void change_memory(void *data)
{
	struct change *change = data;

	kthread_use_mm(change->mm);
	if (change->map)
		change->answer = map(change);
	else
		change->answer = vm_munmap(change->at, change->size);
	kthread_unuse_mm(change->mm);
}

/*
 * The caller holds the lock of breakpoints, for which jobs of system_unbound_wq may wait. Another queue keeps them from delaying this job.
 */
static long make(struct change *change)
{
	struct job job = { .function = change_memory, .data = change };

	if (!mmget_not_zero(change->mm))
		return -ESRCH;
	INIT_WORK_ONSTACK(&job.work, do_job);
	queue_work(system_long_wq, &job.work);
	flush_work(&job.work);
	destroy_work_on_stack(&job.work);
	mmput(change->mm);
	return change->answer;
}

long ntrace_memory_map(struct mm_struct *mm, unsigned long at, unsigned long size, unsigned long protection)
{
	struct change map = { .mm = mm, .at = at, .size = size, .protection = protection, .map = true };

	return make(&map);
}

long ntrace_memory_unmap(struct mm_struct *mm, unsigned long at, unsigned long size)
{
	struct change unmap = { .mm = mm, .at = at, .size = size };

	return make(&unmap);
}
