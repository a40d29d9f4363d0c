// SPDX-License-Identifier: GPL-2.0
/* The device and its files. In C for initialisers of structures, fields, macros and inline functions. */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "../shim.h"

/* The key of module! for it differs between kernels. */
MODULE_AUTHOR("The ntrace authors");
MODULE_VERSION(NTRACE_VERSION);

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

static ushort mode = 0660;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "permissions of /dev/ntrace (default: 0660)");

/* Permission to trace a process is checked at the attach command, whoever may open the device. */
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ntrace",
	.fops = &ntrace_operations,
};

int ntrace_device_add(void)
{
	device.mode = mode & 0666;
	return misc_register(&device);
}

void ntrace_device_remove(void)
{
	misc_deregister(&device);
}

void *ntrace_file_private(const struct file *file)
{
	return file->private_data;
}

/* Takes a reference to the credentials of the opener. */
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

void ntrace_poll_wait(struct file *file, struct wait_queue_head *queue, struct poll_table_struct *table)
{
	poll_wait(file, queue, table);
}

void ntrace_wait_init(struct wait_queue_head *queue)
{
	init_waitqueue_head(queue);
}

/* Sleeps until the count is at least `least` and less than `most`. A signal interrupts it. */
int ntrace_wait(struct wait_queue_head *queue, const unsigned long *count, unsigned long least, unsigned long most)
{
	return wait_event_interruptible(*queue, READ_ONCE(*count) >= least && READ_ONCE(*count) < most);
}

/*
 * Sleeps until the count is at least `least`. Only SIGKILL interrupts it. A held thread sleeps here: it does not hold up suspend, and does
 * not count as load.
 */
void ntrace_wait_killable(struct wait_queue_head *queue, const unsigned long *count, unsigned long least)
{
	wait_event_state(*queue, READ_ONCE(*count) >= least, (TASK_KILLABLE | TASK_FREEZABLE | TASK_NOLOAD));
}

/*
 * Sleeps as a held thread until the count is not `known`, or for this number of moments of 20 ms unless that is 0. Only SIGKILL interrupts it.
 * Where a ring is mapped nobody tells that its reader has made room.
 */
void ntrace_wait_change(struct wait_queue_head *queue, const unsigned long *count, unsigned long known, int moments)
{
	long ticks = moments ? moments * msecs_to_jiffies(20) : MAX_SCHEDULE_TIMEOUT;

	(void)___wait_event(*queue, ___wait_cond_timeout(READ_ONCE(*count) != known), (TASK_KILLABLE | TASK_FREEZABLE | TASK_NOLOAD),
			    0, ticks, __ret = schedule_timeout(__ret));
}

/* Sleeps as a held thread until the count is less than `most`, or `other` is not 0. Only SIGKILL interrupts it. */
void ntrace_wait_below(struct wait_queue_head *queue, const unsigned long *count, unsigned long most, const unsigned long *other)
{
	wait_event_state(*queue, READ_ONCE(*count) < most || READ_ONCE(*other), (TASK_KILLABLE | TASK_FREEZABLE | TASK_NOLOAD));
}

/* Sleeps until the count is 0, for some seconds at most. SIGKILL interrupts it. */
void ntrace_wait_none(struct wait_queue_head *queue, const unsigned long *count, int seconds)
{
	(void)wait_event_killable_timeout(*queue, !READ_ONCE(*count), (long)seconds * HZ);
}

bool ntrace_is_killed(void)
{
	return fatal_signal_pending(current);
}

/* The size of a mapping, or 0 if it cannot be one of a ring: that is shared and begins at offset 0. */
unsigned long ntrace_ring_size(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHARED && !vma->vm_pgoff ? vma->vm_end - vma->vm_start : 0;
}

/* vmalloc_user does not charge the pages to the memory cgroup. */
void *ntrace_ring_alloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

/* Children do not inherit the mapping, because it would keep the session open. */
int ntrace_ring_map(struct vm_area_struct *vma, void *ring)
{
	unsigned long at;
	int error = 0;

	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	for (at = vma->vm_start; at < vma->vm_end && !error; at += PAGE_SIZE, ring += PAGE_SIZE)
		error = vm_insert_page(vma, at, vmalloc_to_page(ring));
	return error;
}
