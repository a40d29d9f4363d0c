// SPDX-License-Identifier: GPL-2.0
/* What only C can say: initialisers that name fields, and macros. Each function says which. */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "../shim.h"

/* module! has other words for it in newer kernels. */
MODULE_AUTHOR("The ntrace authors");

static const struct file_operations ntrace_operations = {
	.owner = THIS_MODULE,
	.open = ntrace_open,
	.release = ntrace_release,
	.read = ntrace_read,
	.write = ntrace_write,
	.poll = ntrace_poll,
	.mmap = ntrace_mmap,
	.show_fdinfo = ntrace_show_fdinfo,
};

/* Anybody may open it: who may trace what is decided when a process is attached. */
struct miscdevice ntrace_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ntrace",
	.mode = 0666,
	.fops = &ntrace_operations,
};

/* The fields of struct file. */
void *ntrace_file_private(const struct file *file)
{
	return file->private_data;
}

/* Inline: get_cred and put_cred. */
const struct cred *ntrace_file_cred(const struct file *file)
{
	return get_cred(file->f_cred);
}

void ntrace_cred_put(const struct cred *cred)
{
	put_cred(cred);
}

void ntrace_file_open(struct file *file, void *session)
{
	file->private_data = session;
	stream_open(file_inode(file), file);
}

bool ntrace_file_blocks(const struct file *file)
{
	return !(file->f_flags & O_NONBLOCK);
}

/* Inline: poll_wait. */
void ntrace_poll_wait(struct file *file, struct wait_queue_head *queue, struct poll_table_struct *table)
{
	poll_wait(file, queue, table);
}

/* A macro with a key of its own. */
void ntrace_wait_init(struct wait_queue_head *queue)
{
	init_waitqueue_head(queue);
}

/* A macro: sleeps until at least `least` and fewer than `most`. */
int ntrace_wait(struct wait_queue_head *queue, const unsigned long *count, unsigned long least, unsigned long most)
{
	return wait_event_interruptible(*queue, READ_ONCE(*count) >= least && READ_ONCE(*count) < most);
}

/* Inline: fatal_signal_pending. */
bool ntrace_is_killed(void)
{
	return fatal_signal_pending(current);
}

/* The same for a thread that is held: nothing but SIGKILL ends it early. */
void ntrace_wait_killable(struct wait_queue_head *queue, const unsigned long *count, unsigned long least)
{
	wait_event_state(*queue, READ_ONCE(*count) >= least, (TASK_KILLABLE | TASK_FREEZABLE | TASK_NOLOAD));
}

/* Fields of struct vm_area_struct: 0 where it is no mapping of a ring. */
unsigned long ntrace_ring_size(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHARED && !vma->vm_pgoff ? vma->vm_end - vma->vm_start : 0;
}

/* A macro; vmalloc_user does not account for its pages. */
void *ntrace_ring_alloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

/* Inline: vm_flags_set. A child must not keep the session open, and has no mapping. */
int ntrace_ring_map(struct vm_area_struct *vma, void *ring)
{
	unsigned long at;
	int error = 0;

	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	for (at = vma->vm_start; at < vma->vm_end && !error; at += PAGE_SIZE, ring += PAGE_SIZE)
		error = vm_insert_page(vma, at, vmalloc_to_page(ring));
	return error;
}
