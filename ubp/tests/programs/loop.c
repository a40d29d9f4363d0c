// Calls `work` as often as told, and prints the sum.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < n % 7; i++) sum += i * n;
    return sum;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 10, sum = 0;
    for (long i = 0; i < count; i++) sum += work(i);
    printf("%ld\n", sum);
    return (int)(sum & 63);
}
