/* A program that wants to be a tracer: says what the kernel answers when it attaches to a child that is its own. */
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
