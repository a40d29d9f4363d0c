// Calls functions, and tells of each entry and each return: "THREAD +NAME" and "THREAD -NAME".
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

static void tell(char sign, const char *name)
{
	char line[64];
	int length = snprintf(line, sizeof line, "%d %c%s\n", gettid(), sign, name);
	if (write(1, line, length) != length)
		_exit(9);
}

static volatile int zero;

FUNCTION int f_leaf(int n)
{
	tell('+', "f_leaf");
	return n + zero;
}

FUNCTION int f_recursive(int n)
{
	tell('+', "f_recursive");
	if (n > 0) {
		n = f_recursive(n - 1);
		tell('-', "f_recursive");
	}
	f_leaf(n);
	tell('-', "f_leaf");
	return n + zero;
}

// With -foptimize-sibling-calls a jump leads from here to f_leaf.
FUNCTION int f_tail(int n)
{
	tell('+', "f_tail");
	return f_leaf(n);
}

static jmp_buf before;

FUNCTION int f_jumping(int n)
{
	tell('+', "f_jumping");
	longjmp(before, n + 1);
}

FUNCTION int f_left(int n)
{
	tell('+', "f_left");
	if (n == 0)
		f_jumping(n);
	return n + zero;
}

static ucontext_t main_context, contexts[2];

FUNCTION int f_switching(int n)
{
	tell('+', "f_switching");
	for (int round = 0; round < 3; round++) {
		f_leaf(round);
		tell('-', "f_leaf");
		swapcontext(&contexts[n], n == 0 ? &contexts[1] : &contexts[0]);
	}
	return n + zero;
}

static void coroutine(int n)
{
	f_switching(n);
	tell('-', "f_switching");
	setcontext(n == 0 ? &contexts[1] : &main_context);
}

static void on_signal(int number)
{
	f_leaf(number);
	tell('-', "f_leaf");
}

FUNCTION int f_raising(int n)
{
	tell('+', "f_raising");
	raise(SIGUSR1);
	return n + zero;
}

FUNCTION int f_forking(int n)
{
	tell('+', "f_forking");
	return fork() + zero;
}

static void *thread(void *argument)
{
	for (int round = 0; round < 20; round++) {
		f_recursive(3);
		tell('-', "f_recursive");
	}
	return argument;
}

int main(int count, char **arguments)
{
	static char stacks[3][1 << 16];
	for (int number = 1; number < count; number++) {
		char *what = arguments[number];
		if (!strcmp(what, "recursive")) {
			f_recursive(5);
			tell('-', "f_recursive");
		} else if (!strcmp(what, "tail")) {
			for (int round = 0; round < 2; round++) {
				f_tail(1);
				tell('-', "f_leaf");
				tell('-', "f_tail");
			}
		} else if (!strcmp(what, "jumps")) {
			for (volatile int round = 0; round < 6; round++)
				if (!setjmp(before)) {
					f_left(round % 2);
					tell('-', "f_left");
				}
		} else if (!strcmp(what, "coroutines")) {
			for (int n = 0; n < 2; n++) {
				getcontext(&contexts[n]);
				contexts[n].uc_stack.ss_sp = stacks[n];
				contexts[n].uc_stack.ss_size = sizeof stacks[n];
				makecontext(&contexts[n], (void (*)(void))coroutine, 1, n);
			}
			swapcontext(&main_context, &contexts[0]);
		} else if (!strcmp(what, "signals")) {
			stack_t stack = {.ss_sp = stacks[2], .ss_size = sizeof stacks[2]};
			struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
			sigaltstack(&stack, NULL);
			sigaction(SIGUSR1, &action, NULL);
			f_raising(0);
			tell('-', "f_raising");
		} else if (!strcmp(what, "forks")) {
			int child = f_forking(0);
			tell('-', "f_forking");
			if (child == 0)
				_exit(0);
			waitpid(child, NULL, 0);
		} else if (!strcmp(what, "threads")) {
			pthread_t threads[4];
			for (int n = 0; n < 4; n++)
				pthread_create(&threads[n], NULL, thread, NULL);
			for (int n = 0; n < 4; n++)
				pthread_join(threads[n], NULL);
		}
	}
	return 0;
}
