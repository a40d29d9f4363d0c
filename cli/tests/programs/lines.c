/* Lines by number: the test asks for the line marked HERE. */
#include <stdio.h>

static inline __attribute__((always_inline)) int twice(volatile int *n) {
    *n += 1; /* HERE */
    return *n * 2;
}

__attribute__((noinline)) int one(volatile int *n) {
    return twice(n) + 1;
}

__attribute__((noinline)) int two(volatile int *n) {
    return twice(n) + 2;
}

int main(void) {
    volatile int n = 0;
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += one(&n);
    sum += two(&n);
    printf("%d\n", sum);
    return 0;
}
