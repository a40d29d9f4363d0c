/* A function whose name the test replaces in the symbol table and in the debug information by one with control characters.
   With an argument the program, which has such a name too, traces a child and prints the child's process id. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#line 1 "chosen_by_debuggees"
__attribute__((noinline)) int chosen_by_debuggees(const char *text) {
    __asm__ volatile("");
    return text[0];
}
#line 17 "hostile.c"

static int trace(void) {
    int child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        for (;;)
            pause();
    }
    waitpid(child, NULL, 0);
    printf("%d\n", child);
    fflush(stdout);
    /* Wait until the test is done. */
    getchar();
    kill(child, SIGKILL);
    return 0;
}

int main(int argc, char **argv) {
    (void)argv;
    prctl(PR_SET_NAME, "\033[31m\nred");
    if (argc > 1)
        return trace();
    return chosen_by_debuggees("a\033[31m\n\342\200\256b") != 'a' ? 1 : chosen_by_debuggees("\342\200\256\n") == 0;
}
