/* Calls that return in different ways: recursion, a tail call (-O2), a call that longjmp leaves, floating-point values. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;

__attribute__((noipa)) int factorial(int n) {
    int below;
    if (n < 2)
        return 1;
    below = factorial(n - 1);
    __asm__ volatile("" : "+r"(below));
    return n * below;
}

__attribute__((noipa)) int target(int n) {
    return n + 1;
}

__attribute__((noipa)) int tail(int n) {
    return target(n * 2);
}

__attribute__((noipa)) int leaves(int n) {
    if (n > 1)
        longjmp(back, n);
    return n;
}

__attribute__((noipa)) int catches(int n) {
    int left = setjmp(back);
    if (left == 0)
        left = leaves(n);
    return left * 10;
}

__attribute__((noipa)) double half(double x) {
    return x / 2;
}

__attribute__((noipa)) void nothing(void) {
    __asm__ volatile("");
}

int main(void) {
    printf("%d %d", factorial(3), tail(4));
    printf(" %d", catches(1));
    printf(" %d %g\n", catches(5), half(3));
    nothing();
    return 0;
}
