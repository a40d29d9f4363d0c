// SPDX-License-Identifier: GPL-2.0
/* Writes to a page of a process. In C for an inline function. */
#include <linux/highmem.h>
#include <linux/mm.h>

#include "../../shim.h"

void ntrace_page_write(struct vm_area_struct *vma, struct page *page, unsigned long at,
		       void *to, const void *from, unsigned long count)
{
	copy_to_user_page(vma, page, at, to, from, count);
}
