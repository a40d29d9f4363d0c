/* Two functions that ask for memory: ten times 1000 bytes, and five times 10. */
#include <stdlib.h>

static void *volatile kept;

static __attribute__((noinline)) void greedy(void)
{
    kept = malloc(1000);
    free(kept);
}

static __attribute__((noinline)) void modest(void)
{
    kept = malloc(10);
    free(kept);
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        greedy();
    for (int i = 0; i < 5; i++)
        modest();
    return 0;
}
