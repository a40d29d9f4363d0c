// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers that Rust takes from C. The compiler writes them into assembly, and Kbuild makes constants of Rust of that (layout.rs), as the
 * kernel does with asm-offsets.
 */
#include <linux/elf.h>
#include <linux/eventpoll.h>
#include <linux/kbuild.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/signal.h>

#include "shim.h"

void ntrace_layout(void);

void ntrace_layout(void)
{
	DEFINE(NTRACE_FOREIGN, NTRACE_FOREIGN);
	DEFINE(NTRACE_PASSED, NTRACE_PASSED);
	DEFINE(NTRACE_SINGLE_STEP, NTRACE_SINGLE_STEP);
	DEFINE(NTRACE_UPROBE, NTRACE_UPROBE);
	DEFINE(NTRACE_LATER, NTRACE_LATER);
	DEFINE(NTRACE_AGAIN, NTRACE_AGAIN);

	DEFINE(NTRACE_STOP, NTRACE_STOP);
	DEFINE(NTRACE_FAULT, NTRACE_FAULT);

	DEFINE(NTRACE_PATCH_SIZE, sizeof(struct ntrace_patch));
	DEFINE(NTRACE_PATCH_BYTES, sizeof_field(struct ntrace_patch, old));
	OFFSET(NTRACE_PATCH_ADDRESS, ntrace_patch, address);
	OFFSET(NTRACE_PATCH_OLD, ntrace_patch, old);
	OFFSET(NTRACE_PATCH_NEW, ntrace_patch, new);
	OFFSET(NTRACE_PATCH_DONE, ntrace_patch, done);
	OFFSET(NTRACE_PATCH_RESTORES, ntrace_patch, restores);

	DEFINE(NTRACE_POLL_READABLE, (__force u32)(EPOLLIN | EPOLLRDNORM));
	DEFINE(NTRACE_POLL_WRITABLE, (__force u32)(EPOLLOUT | EPOLLWRNORM));
	DEFINE(NTRACE_PROT_READ, PROT_READ);
	DEFINE(NTRACE_PROT_WRITE, PROT_WRITE);
	DEFINE(NTRACE_PROT_EXEC, PROT_EXEC);
	DEFINE(NTRACE_SIGTRAP, SIGTRAP);
	DEFINE(NTRACE_SIGINFO, NTRACE_SIGINFO);
	DEFINE(NTRACE_NSIG, _NSIG);
	DEFINE(NTRACE_RESTART_BEHIND_HANDLER, NTRACE_RESTART_BEHIND_HANDLER);
	DEFINE(NTRACE_SYSCALL_WORDS, sizeof(struct ntrace_syscall) / sizeof(u64));
}
