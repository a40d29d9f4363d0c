// Code to step through. The first argument names the case; prints only what does not depend on addresses.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steps.h"

static volatile int seen;

static void on_usr1(int signal) {
    (void)signal;
    seen++;
}

__attribute__((noinline)) void work_fork(void) {
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    setvbuf(stdout, 0, _IOLBF, 0);
    signal(SIGUSR1, on_usr1);
    if (!strcmp(name, "path")) {
        unsigned long flags = path();
        printf("%s %lx\n", target, flags & 0x100);
    }
    if (!strcmp(name, "signal")) {
        for (int i = 0; i < 3; i++) raise(SIGUSR1);
        printf("signals %d\n", seen);
    }
    if (!strcmp(name, "fork")) work_fork();
    if (!strcmp(name, "exec")) execl(argv[0], argv[0], "signal", (char *)0);
    return 5;
}
