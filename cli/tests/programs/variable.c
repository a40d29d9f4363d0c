// Writes and reads variables, and prints how often.
#include <stdio.h>

volatile long counter;
static volatile int quiet;

__attribute__((noinline)) void set(long value) {
    counter = value;
}

__attribute__((noinline)) long get(void) {
    return counter;
}

int main(void) {
    long sum = 0;
    for (long value = 1; value <= 6; value++) {
        set(value * 0x10001);
        quiet++;
        if (value % 2 == 0)
            sum += get();
    }
    printf("writes 6 reads 3 sum %ld\n", sum);
    return 0;
}
