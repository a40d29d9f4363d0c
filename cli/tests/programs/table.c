/* Calls a function a number of times with each of two arguments. Only a computed jump reaches its cases. */
#include <stdlib.h>

long choose(long number);

#ifdef __aarch64__
__asm__(".text\n.global choose\n.type choose, @function\n"
	"choose:\n\tadr x1, 1f\n\tadd x1, x1, x0, lsl #3\n\tbr x1\n"
	"1:\tmov x0, #0\n\tret\n"
	"2:\tmov x0, #256\n\tret\n"
	".size choose, . - choose\n");
#else
__asm__(".text\n.global choose\n.type choose, @function\n.balign 8\n"
	"choose:\n\tlea 1f(%rip), %rdx\n\tlea (%rdx,%rdi,8), %rdx\n\tjmp *%rdx\n\t.balign 8\n"
	"1:\txor %eax, %eax\n\tret\n\t.balign 8\n"
	"2:\tmov $256, %eax\n\tret\n"
	".size choose, . - choose\n");
#endif

int main(int count, char **words)
{
	long sum = 0;

	for (long times = atol(words[count - 1]); times; times--)
		sum += choose(0) + choose(1);
	return sum == 0;
}
