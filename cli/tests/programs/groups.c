// Calls a function with known arguments from several threads and places, and prints how often.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VALUES = 40 };

static volatile unsigned long sink;

__attribute__((noinline)) void work(unsigned long value) {
    sink += value;
}

// Calls the function with the value VALUES / n for each n up to VALUES, so that small values are frequent.
__attribute__((noinline)) void often(void) {
    for (int number = 1; number <= VALUES; number++)
        work(VALUES / number);
    sink++;
}

__attribute__((noinline)) void once(void) {
    work(1000);
    sink++;
}

static void *thread(void *unused) {
    often();
    printf("thread %ld %d\n", syscall(SYS_gettid), VALUES);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, thread, NULL);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    once();
    printf("thread %ld 1\n", syscall(SYS_gettid));
    for (int value = 1; value <= VALUES; value++) {
        int count = 0;
        for (int number = 1; number <= VALUES; number++)
            count += VALUES / number == value;
        if (count)
            printf("value %d %d\n", value, 2 * count);
    }
    printf("value 1000 1\n");
    return 0;
}
