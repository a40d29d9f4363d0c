// SPDX-License-Identifier: GPL-2.0
/* The memory control groups that pay for the kernel's allocations. In C for inline functions (set_active_memcg, mem_cgroup_put). */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

#include "../shim.h"

/* The group of the current process, with a reference. */
struct mem_cgroup *ntrace_account_get(void)
{
	return get_mem_cgroup_from_mm(current->mm);
}

void ntrace_account_put(struct mem_cgroup *account)
{
	mem_cgroup_put(account);
}

/* Has a group pay for what the current thread allocates from here on. NULL stands for its own group. Returns who paid before. */
struct mem_cgroup *ntrace_account_use(struct mem_cgroup *account)
{
	return set_active_memcg(account);
}
