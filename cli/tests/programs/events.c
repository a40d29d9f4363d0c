// Makes system calls, signals, threads and processes, and writes what it did to standard output.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;

static void handler(int number) {
    handled++;
}

static void *thread(void *unused) {
    printf("thread %ld\n", syscall(SYS_gettid));
    return NULL;
}

// Waits for a child whose life is as told.
static void await(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        printf("child %d exited %d\n", child, WEXITSTATUS(status));
    else
        printf("child %d killed %d\n", child, WTERMSIG(status));
}

int main(int argc, char **argv) {
    if (argc > 1)
        return 4;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    // No library makes these calls with such arguments.
    for (long number = 0; number < 5; number++) {
        long result = syscall(SYS_lseek, 1000 + number, 0x12345670 + number, 2);
        printf("call lseek %#lx %#lx 0x2 %s\n", 1000 + number, 0x12345670 + number, result < 0 ? "EBADF" : "?");
    }
    printf("call getpgid 0x0 0x7 0x9 %#lx\n", syscall(SYS_getpgid, 0, 7, 9));

    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    for (int number = 0; number < 3; number++)
        kill(getpid(), SIGUSR1);
    printf("handled %d\n", handled);

    pthread_t threads[2];
    for (int number = 0; number < 2; number++) {
        pthread_create(&threads[number], NULL, thread, NULL);
        pthread_join(threads[number], NULL);
    }
    fflush(stdout);

    pid_t child = fork();
    if (child == 0)
        _exit(3);
    await(child);
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    kill(child, SIGKILL);
    await(child);
    child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], "child", NULL);
        _exit(1);
    }
    await(child);
    return 7;
}
