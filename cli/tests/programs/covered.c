// Executes some of its lines: by threads, signal handlers, long jumps, children and programs that it executes. Its arguments choose cases.

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf back;
static volatile int caught;

static int never(int value) {
    int twice = value * 2;
    return twice;
}

static int pick(int number) {
    int result = 0;
    switch (number) {
    case 0:
        return 5;
    case 1:
        return 17;
    case 2:
        result += 100;
        // fall through
    case 3:
        result += 10;
        break;
    case 4:
        result -= 40;
        // fall through
    case 5:
        result += 2;
        break;
    case 6:
        exit(7);
    case 7:
        return never(3);
    case 8:
        longjmp(back, 1);
    default:
        return -1;
    }
    return result;
}

static void handler(int number) {
    if (number == SIGUSR1)
        caught++;
    else
        caught--;
}

static void *worker(void *argument) {
    long value = (long)argument;
    while (value > 1)
        value = value % 2 ? 3 * value + 1 : value / 2;
    return (void *)value;
}

static int child(void) {
    for (int round = 0; round < 3; round++)
        if (round == 2)
            return round;
    return 0;
}

int main(int argc, char **argv) {
    int sum = 0;
    signal(SIGUSR1, handler);
    for (int i = 1; i < argc; i++) {
        char *argument = argv[i];
        if (!strcmp(argument, "signal")) {
            raise(SIGUSR1);
        } else if (!strcmp(argument, "thread")) {
            pthread_t thread;
            pthread_create(&thread, NULL, worker, (void *)7);
            pthread_join(thread, NULL);
        } else if (!strcmp(argument, "fork")) {
            int status;
            if (!fork())
                exit(child());
            wait(&status);
            sum += WEXITSTATUS(status);
        } else if (!strcmp(argument, "exec")) {
            char *arguments[] = {argv[0], "5", NULL};
            if (!fork())
                execv(argv[0], arguments);
            wait(NULL);
        } else {
            if (setjmp(back))
                continue;
            sum += pick(atoi(argument));
        }
    }
    printf("%d %d\n", sum, caught);
    return 3;
}
