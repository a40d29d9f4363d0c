// SPDX-License-Identifier: GPL-2.0
/* Writes to a page of a process, as copy_to_user_page does, which arm64 does not export. */
#include <linux/align.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/cacheflush.h>

#include "../../shim.h"

/*
 * A thread that runs meanwhile executes the old instruction or the new one, never a part of both: each is written at once. memcpy may
 * write single bytes (FEAT_MOPS).
 */
static void write_code(void *to, const void *from, unsigned long count)
{
	while (count) {
		bool is_whole = IS_ALIGNED((unsigned long)to, sizeof(u32)) && count >= sizeof(u32);
		unsigned long size = is_whole ? sizeof(u32) : 1;

		if (is_whole)
			WRITE_ONCE(*(u32 *)to, get_unaligned((const u32 *)from));
		else
			WRITE_ONCE(*(u8 *)to, *(const u8 *)from);
		to += size;
		from += size;
		count -= size;
	}
}

void ntrace_page_write(struct vm_area_struct *vma, struct page *page, unsigned long at,
		       void *to, const void *from, unsigned long count)
{
	unsigned long start = (unsigned long)to;

	if (vma->vm_flags & VM_EXEC) {
		write_code(to, from, count);
		caches_clean_inval_pou(start, start + count);
		/* An instruction cache may hold the page under other virtual addresses. */
		icache_inval_all_pou();
	} else {
		memcpy(to, from, count);
	}
}
