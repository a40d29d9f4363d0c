/* Calls a function as often as the argument says, and prints the nanoseconds of a call. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile int sum;

__attribute__((noinline)) void work(int i) {
    int local = i;
    sum += local;
}

int main(int argc, char **argv) {
    int calls = argc > 1 ? atoi(argv[1]) : 1;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < calls; i++)
        work(i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "a call: %.3f ns\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / calls);
}
