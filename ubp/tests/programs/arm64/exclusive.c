// Four threads count up one number by a load and a store that are exclusive.
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 200 };
static long number;

__attribute__((noinline)) void add(long *to) {
    long value, failed;
    __asm__ volatile("1: ldxr %0, [%2]\n\tadd %0, %0, #1\n\tstxr %w1, %0, [%2]\n\tcbnz %w1, 1b"
                     : "=&r"(value), "=&r"(failed)
                     : "r"(to)
                     : "memory");
}

static void *run(void *argument) {
    for (int i = 0; i < ROUNDS; i++) add(&number);
    return argument;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%ld\n", number);
    return 0;
}
