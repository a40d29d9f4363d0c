/* main calls outer, which calls inner; with an argument after a byte of the standard input. */
#include <stdio.h>

__attribute__((noinline)) int inner(int n) {
    __asm__ volatile("");
    return n + 1; /* INNER */
}

__attribute__((noinline)) int outer(int n) {
    int sum = inner(n) * 2; /* OUTER */
    __asm__ volatile("" : : : "memory");
    return sum;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        puts("waits");
        fflush(stdout);
        getchar();
    }
    printf("%d\n", outer(argc)); /* MAIN */
    return 0;
}
