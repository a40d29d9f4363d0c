// A program for an editor's debugger. Tests find lines by their comments.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct point {
    int x, y;
};

struct item {
    const char *name;
    struct point at;
    struct item *next;
};

static long total;

static long square(long n) {
    long result = n * n; // SQUARE
    total += result;
    return result; // SQUARED
}

static long recurse(long depth) {
    long mine = depth * 10;
    if (depth == 0)
        return 1; // BOTTOM
    long below = recurse(depth - 1); // RECURSE
    return mine + below; // UNWOUND
}

static long walk(struct item *first, const char *who) {
    long sum = 0; // WALKING
    for (struct item *item = first; item; item = item->next) {
        sum += item->at.x + item->at.y; // WALK
    }
    return sum + (long)strlen(who); // WALKED
}

static void *work(void *argument) {
    long number = (long)argument;
    square(number);
    return NULL; // WORKED
}

static volatile int go;

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "wait")) {
        while (!go)
            usleep(1000); // WAIT
    }
    struct item second = {"second", {3, 4}, NULL};
    struct item first = {"first", {1, 2}, &second};
    int numbers[3] = {10, 20, 30};
    for (int i = 0; i < 100; i++) {
        square(i); // LOOP
    }
    long sum = walk(&first, "me"); // CALL
    long deep = recurse(3); // DEEP
    numbers[1] = 21; // WRITE
    printf("sum %ld deep %ld total %ld\n", sum, deep, total); // PRINT
    fflush(stdout);
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)7L);
    pthread_join(thread, NULL);
    fprintf(stderr, "joined %d\n", numbers[1]);
    if (argc > 1 && !strcmp(argv[1], "crash"))
        *(volatile int *)8 = 1; // CRASH
    return 3; // END
}
