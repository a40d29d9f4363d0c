/* Calls one function a known number of times, with arguments known to the test; ends with status 7. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) int work(int n, const char *text, long big) {
    __asm__ volatile("");
    return n + text[0] + (int)big;
}

__attribute__((noinline)) int middle(int n) {
    return work(n, "hello", 0x123456789L) + 1;
}

static __attribute__((noinline)) int quiet(int n) {
    __asm__ volatile("");
    return n;
}

int not_code = 3;

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 5;
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += middle(i) + quiet(i) + not_code;
    printf("sum %d\n", sum);
    fprintf(stderr, "to standard error\n");
    return 7;
}
