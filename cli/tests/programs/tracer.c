/* A program that traces: prints the kernel's answer when it attaches to its own child. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int child = fork();
    if (child == 0)
        for (;;)
            pause();
    long answer = ptrace(PTRACE_SEIZE, child, NULL, NULL);
    printf("%s\n", answer == 0 ? "seized" : strerror(errno));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
