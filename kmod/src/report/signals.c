// SPDX-License-Identifier: GPL-2.0
/* Signals that a debuggee is about to get. In C for the queues of signals and their lock. */
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>

#include "../shim.h"

/* The signals of an instruction, which come first (kernel/signal.c). */
#define SYNCHRONOUS (sigmask(SIGSEGV) | sigmask(SIGBUS) | sigmask(SIGILL) | sigmask(SIGTRAP) | sigmask(SIGFPE) | sigmask(SIGSYS))

/* The signals of a queue that the current thread takes, without those in `but`, as bits: signal N is bit N - 1. */
static u64 deliverable(const struct sigpending *pending, u64 but)
{
	u64 signals = 0;

	for (int word = 0; word < _NSIG_WORDS; word++)
		signals |= (u64)(pending->signal.sig[word] & ~current->blocked.sig[word]) << (word * _NSIG_BPW);
	return signals & ~but;
}

static int first_of(u64 signals)
{
	u64 synchronous = signals & SYNCHRONOUS;

	return signals ? __ffs64(synchronous ?: signals) + 1 : 0;
}

/* The signal that the kernel delivers next to the current thread, and its queue. 0: none. The lock of the signals is held. */
static int next_signal_but(u64 but, struct sigpending **queue)
{
	int number = first_of(deliverable(&current->pending, but));

	*queue = &current->pending;
	if (number)
		return number;
	*queue = &current->signal->shared_pending;
	return first_of(deliverable(*queue, but));
}

/* Whether the kernel drops a signal instead of delivering it. */
static bool is_dropped(int number)
{
	__sighandler_t handler = current->sighand->action[number - 1].sa.sa_handler;

	return handler == SIG_IGN || (handler == SIG_DFL && sig_kernel_ignore(number));
}

static bool is_dying(void)
{
	return current->signal->flags & SIGNAL_GROUP_EXIT || sigismember(&current->pending.signal, SIGKILL);
}

static void copy_info(void *to, const struct sigpending *queue, int number)
{
	const struct sigqueue *queued;
	struct kernel_siginfo info;

	clear_siginfo(&info);
	info.si_signo = number;
	list_for_each_entry(queued, &queue->list, list)
		if (queued->info.si_signo == number) {
			info = queued->info;
			break;
		}
	memcpy(to, &info, NTRACE_SIGINFO);
}

/*
 * The signal that is delivered to the current thread next, unless it is in `told`, to which it is added. Behind a told one that the kernel drops
 * comes the next. Writes the signal's information. 0: none.
 */
int ntrace_signal_next(u64 *told, void *info)
{
	u64 dropped = 0;
	struct sigpending *queue;
	unsigned long flags;
	int number = 0;

	BUILD_BUG_ON(sizeof(struct kernel_siginfo) != NTRACE_SIGINFO || _NSIG != 64);
	spin_lock_irqsave(&current->sighand->siglock, flags);
	while (!is_dying()) {
		u64 bit;

		number = next_signal_but(dropped, &queue);
		if (!number)
			break;
		bit = 1ULL << (number - 1);
		if (*told & bit && is_dropped(number)) {
			dropped |= bit;
			continue;
		}
		if (*told & bit)
			number = 0;
		else
			copy_info(info, queue, number);
		*told |= bit;
		break;
	}
	spin_unlock_irqrestore(&current->sighand->siglock, flags);
	return is_dying() ? 0 : number;
}

/* The signal that the current thread gets before it goes on in user mode, with the flags of its handler. 0: none that has a handler. */
static int handled(unsigned long *handler_flags)
{
	struct sigpending *queue;
	unsigned long flags;
	u64 dropped = 0;
	int number = 0;

	if (!task_sigpending(current))
		return 0;
	spin_lock_irqsave(&current->sighand->siglock, flags);
	while ((number = next_signal_but(dropped, &queue)) && is_dropped(number))
		dropped |= 1ULL << (number - 1);
	if (number) {
		const struct sigaction *action = &current->sighand->action[number - 1].sa;

		*handler_flags = action->sa_flags;
		if (action->sa_handler == SIG_DFL)
			number = 0;
	}
	spin_unlock_irqrestore(&current->sighand->siglock, flags);
	return number;
}

/* The signal whose handler the current thread enters before it goes on in user mode, or 0. */
int ntrace_signal_handled(void)
{
	unsigned long handler_flags;

	return handled(&handler_flags);
}

/* Whether the kernel makes a system call of the current thread once more that has ended with this error. */
int ntrace_signal_restarts(long error)
{
	unsigned long handler_flags = 0;
	bool has_handler;

	if (error != -ERESTARTNOINTR && error != -ERESTARTSYS && error != -ERESTARTNOHAND && error != -ERESTART_RESTARTBLOCK)
		return NTRACE_NO_RESTART;
	has_handler = handled(&handler_flags);
	if (!has_handler)
		return NTRACE_RESTART;
	if (error == -ERESTARTNOINTR || (error == -ERESTARTSYS && handler_flags & SA_RESTART))
		return NTRACE_RESTART_BEHIND_HANDLER;
	return NTRACE_NO_RESTART;
}

/* Removes a signal that the current thread was about to get, unless another thread has taken it. */
void ntrace_signal_drop(int number)
{
	struct kernel_siginfo info;
	enum pid_type type;
	unsigned long flags;
	sigset_t others;

	sigfillset(&others);
	sigdelset(&others, number);
	spin_lock_irqsave(&current->sighand->siglock, flags);
	dequeue_signal(&others, &info, &type);
	spin_unlock_irqrestore(&current->sighand->siglock, flags);
}

/* Sends the current thread a signal, as from itself. */
void ntrace_signal_send(int number)
{
	send_sig_info(number, SEND_SIG_NOINFO, current);
}
