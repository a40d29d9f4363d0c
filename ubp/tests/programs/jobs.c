// Stops and continues a child, which computes until told, as a shell does with its jobs.
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

__attribute__((noinline)) static int child(int ready) {
    // A group whose parent is in another one of the session: such a group can be stopped from a terminal.
    setpgid(0, 0);
    signal(SIGCONT, on_continue);
    signal(SIGTERM, on_term);
    if (write(ready, "x", 1) != 1) return 98;
    for (long told = 0, since = 0; go_on;) {
        sink = compute(sink);
        if (told == continued || ++since < 100) continue;
        told = continued, since = 0;
        if (write(ready, "x", 1) != 1) return 98;
    }
    return continued;
}

int main(void) {
    int ends[2], status;
    char byte;
    if (pipe(ends)) return 99;
    setvbuf(stdout, 0, _IONBF, 0);
    pid_t pid = fork();
    if (pid == 0) _exit(child(ends[1]));
    if (read(ends[0], &byte, 1) != 1) return 97;
    for (int i = 0; i < 5; i++) {
        kill(pid, i % 2 ? SIGTSTP : SIGSTOP);
        if (waitpid(pid, &status, WUNTRACED) != pid) return 96;
        printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
        kill(pid, SIGCONT);
        // The kernel keeps the notice while the child computes.
        if (read(ends[0], &byte, 1) != 1) return 97;
        if (waitpid(pid, &status, WCONTINUED | WNOHANG) != pid) {
            kill(pid, SIGKILL);
            return 95;
        }
        printf("continued %d\n", WIFCONTINUED(status));
    }
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf("exited %d\n", WIFEXITED(status));
    return 0;
}
