// SPDX-License-Identifier: GPL-2.0
/* A lock whose waiters SIGKILL ends, which the kernel crate does not have. In C for the macros of lockdep. */
#include <linux/mutex.h>

#include "../shim.h"

void ntrace_lock_init(struct mutex *lock)
{
	mutex_init(lock);
}

/* A lock under which one of ntrace_lock_init is taken: lockdep tells locks apart by the place of their initialisation. */
void ntrace_outer_lock_init(struct mutex *lock)
{
	mutex_init(lock);
}

/* Returns false if the thread is killed before it gets the lock. */
bool ntrace_lock(struct mutex *lock)
{
	return !mutex_lock_killable(lock);
}

/* Returns false if another thread has the lock. */
bool ntrace_try_lock(struct mutex *lock)
{
	return mutex_trylock(lock);
}

void ntrace_unlock(struct mutex *lock)
{
	mutex_unlock(lock);
}
