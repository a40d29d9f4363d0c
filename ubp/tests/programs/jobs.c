// Stops and continues: two children watch job control of a third, which computes until told.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t continued, go_on = 1;
static volatile long sink;
static void on_continue(int signal) { (void)signal; continued++; }
static void on_term(int signal) { (void)signal; go_on = 0; }

__attribute__((noinline)) static long compute(long n) { return n * 5 + 3; }

__attribute__((noinline)) static int child(void) {
    signal(SIGCONT, on_continue);
    signal(SIGTERM, on_term);
    if (write(1, "", 0)) return 1;
    while (go_on) sink = compute(sink);
    return continued;
}

int main(void) {
    int ends[2], status;
    char byte;
    if (pipe(ends)) return 99;
    setvbuf(stdout, 0, _IONBF, 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (write(ends[1], "x", 1) != 1) _exit(98);
        _exit(child());
    }
    if (read(ends[0], &byte, 1) != 1) return 97;
    usleep(20000);
    for (int i = 0; i < 5; i++) {
        kill(pid, i % 2 ? SIGTSTP : SIGSTOP);
        if (waitpid(pid, &status, WUNTRACED) != pid) return 96;
        printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
        kill(pid, SIGCONT);
        if (waitpid(pid, &status, WCONTINUED) != pid) return 95;
        printf("continued %d\n", WIFCONTINUED(status));
    }
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf("exited %d\n", WIFEXITED(status));
    return 0;
}
