/* Sorts the numbers of a generator (xorshift64), once for each argument. Without a library: a recording has nothing else. */

static unsigned long state = 88172645463325252;
static unsigned numbers[256];

static unsigned next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void insert(int at)
{
	unsigned number = numbers[at];

	for (; at > 0 && numbers[at - 1] > number; at--)
		numbers[at] = numbers[at - 1];
	numbers[at] = number;
}

__attribute__((used, noreturn)) static void work(const long *stack)
{
	for (long round = 1; round < stack[0]; round++) {
		for (int i = 0; i < 256; i++)
			numbers[i] = next();
		for (int i = 1; i < 256; i++)
			insert(i);
	}
	for (;;)
		__asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n call work\n");
