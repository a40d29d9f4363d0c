/* A function whose implementation a resolver chooses at start. */
#include <stdio.h>

static __attribute__((noinline)) int plain(int n) {
    __asm__ volatile("");
    return n + 1;
}

static int (*choose(void))(int) {
    return plain;
}

int chosen(int n) __attribute__((ifunc("choose")));

int main(void) {
    int sum = 0;
    for (int i = 0; i < 9; i++)
        sum += chosen(i);
    printf("%d\n", sum);
    return 0;
}
