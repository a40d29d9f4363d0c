// SPDX-License-Identifier: GPL-2.0
/* Writes to a page of a process, as copy_to_user_page does, which arm64 does not export. */
#include <linux/mm.h>
#include <linux/string.h>
#include <asm/cacheflush.h>

#include "../../shim.h"

void ntrace_page_write(struct vm_area_struct *vma, struct page *page, unsigned long at,
		       void *to, const void *from, unsigned long count)
{
	unsigned long start = (unsigned long)to;

	memcpy(to, from, count);
	if (vma->vm_flags & VM_EXEC) {
		caches_clean_inval_pou(start, start + count);
		/* An instruction cache may hold the page under other virtual addresses. */
		icache_inval_all_pou();
	}
}
