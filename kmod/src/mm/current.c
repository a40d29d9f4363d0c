// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of the current process. In C for inline functions (arch_futex_atomic_op_inuser, user_access_begin, copy_from_user) and the
 * exception table.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/futex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/futex.h>

#include "../shim.h"

static int add(u32 __user *word, u32 *before)
{
	int error, old;

	do
		error = arch_futex_atomic_op_inuser(FUTEX_OP_ADD, 1, &old, word);
	while (error == -EAGAIN);
	*before = old;
	return error;
}

#ifdef CONFIG_ARM64_LSE_ATOMICS
/* Adds by one instruction. With exclusive loads and stores, processors that count at one address slow each other down. */
static int add_at_once(u64 __user *number, u64 *value)
{
	u64 __user *masked = __uaccess_mask_ptr(number);
	u64 before = 0;
	int error = -EFAULT;

	if (!access_ok(number, sizeof(*number)))
		return error;
	uaccess_enable_privileged();
	asm volatile(__LSE_PREAMBLE
		     "1:	ldadd	%[one], %[before], %[number]\n"
		     "	mov	%w[error], wzr\n"
		     "2:\n" _ASM_EXTABLE_UACCESS(1b, 2b)
		     : [error] "+r"(error), [before] "+r"(before), [number] "+Q"(*masked)
		     : [one] "r"(1UL)
		     : "memory");
	uaccess_disable_privileged();
	if (value)
		*value = before + 1;
	return error;
}
#endif

/*
 * Adds one to a number of 64 bits. Sets `value`, if there is one, to the new number. Without an instruction for it the halves are added
 * one after the other, and the thread whose addition overflows adds the carry. The caller has disabled page faults.
 */
int ntrace_user_count(unsigned long at, u64 *value)
{
	u32 __user *word = (u32 __user *)at;
	u32 low, high = 0;
	int error;

#ifdef CONFIG_ARM64_LSE_ATOMICS
	if (alternative_has_cap_likely(ARM64_HAS_LSE_ATOMICS))
		return add_at_once((u64 __user *)at, value);
#endif
	error = add(word, &low);
	if (!error && low == U32_MAX)
		error = add(word + 1, &high);
	else if (!error && value)
		error = __get_user(high, word + 1);
	if (value)
		*value = ((u64)high << 32 | low) + 1;
	return error;
}

/* The memory of the current thread; null for one of the kernel. */
const struct mm_struct *ntrace_memory_of_this(void)
{
	return current->mm;
}

/*
 * Copies bytes from the program. Returns how many bytes at the end could not be copied. Copies page by page, because a copy that faults does
 * not tell the exact byte. Removes the tag of the address, which the processor ignores and the kernel does not.
 */
unsigned long ntrace_user_copy(void *to, unsigned long from, unsigned long size)
{
	from = untagged_addr(from);
	while (size) {
		unsigned long part = min(size, PAGE_SIZE - offset_in_page(from));

		if (copy_from_user(to, (const void __user *)from, part))
			break;
		to += part;
		from += part;
		size -= part;
	}
	return size;
}

/* Copies bytes to the program. Returns how many bytes could not be copied. */
unsigned long ntrace_user_write(unsigned long to, const void *from, unsigned long size)
{
	return copy_to_user((void __user *)to, from, size);
}

/*
 * Reads bytes of the program, by words where possible. The caller has disabled page faults. Every hit reads a word of the index and an
 * entry: for their sizes ntrace_user_get has calls of its own, in which the compiler unrolls the loops.
 */
static __always_inline bool get(void *to, const void __user *at, size_t size)
{
	if (!user_read_access_begin(at, size))
		return false;
	for (; size >= sizeof(u64); size -= sizeof(u64), to += sizeof(u64), at += sizeof(u64))
		unsafe_get_user(*(u64 *)to, (u64 __user *)at, fault);
	for (; size >= sizeof(u32); size -= sizeof(u32), to += sizeof(u32), at += sizeof(u32))
		unsafe_get_user(*(u32 *)to, (u32 __user *)at, fault);
	for (; size; size--, to++, at++)
		unsafe_get_user(*(u8 *)to, (u8 __user *)at, fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

bool ntrace_user_get(void *to, unsigned long from, size_t size)
{
	const void __user *at = (const void __user *)from;

	if (size == 4)
		return get(to, at, 4);
	if (size == 32)
		return get(to, at, 32);
	return get(to, at, size);
}

/* Begins a read-side section of RCU with page faults disabled. */
void ntrace_atomic_begin(void)
{
	rcu_read_lock();
	pagefault_disable();
}

void ntrace_atomic_end(void)
{
	pagefault_enable();
	rcu_read_unlock();
}
