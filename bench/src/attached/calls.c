/* Tells where `work` is, waits for a byte, calls it, and tells the nanoseconds of a call. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100000

__attribute__((noinline)) long work(long n, const char *text)
{
	__asm__ volatile("" : : : "memory");
	return n + text[n & 3];
}

int main(void)
{
	struct timespec start, end;
	volatile long sum = 0;
	char byte;

	printf("%p\n", (void *)work);
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < CALLS; i++)
		sum += work(i, "a text of more than sixteen bytes");
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%f\n", ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / CALLS);
	return 0;
}
