/* A function that is called by a function that is called by a function. */
#include <stdio.h>

__attribute__((noinline)) int three(int n) {
    __asm__ volatile("");
    return n + 1;
}

__attribute__((noinline)) int two(int n) {
    int room[5] = {n, n + 1, n + 2, n + 3, n + 4};
    __asm__ volatile("" : : "r"(room) : "memory");
    return three(n) + room[n & 3];
}

__attribute__((noinline)) int one(int n) {
    int room[9] = {n, n + 1, n + 2, n + 3};
    __asm__ volatile("" : : "r"(room) : "memory");
    return two(n) + room[n & 3];
}

int main(void) {
    printf("%d\n", one(1));
}
