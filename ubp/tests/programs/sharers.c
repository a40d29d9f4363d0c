// Processes that share memory. The first argument says which; each goes on when it reads a letter from standard input.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (64 << 10)

static volatile long sink;

__attribute__((noinline)) long work(long n) {
    sink += n;
    return n;
}

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(1);
}

static char letter(void) {
    char letter;
    if (read(0, &letter, 1) != 1) _exit(2);
    return letter;
}

static int in_child(void *argument) {
    (void)argument;
    say("child\n");
    letter();
    for (int i = 0; i < 5; i++) work(1);
    return 0;
}

static void end_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, __WALL) != child || status) {
        printf("child %x\n", status);
        fflush(stdout);
        _exit(3);
    }
}

int main(int argc, char **argv) {
    char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *what = argc > 1 ? argv[1] : "";
    pid_t child = 0;
    if (!strcmp(what, "vfork")) {
        child = vfork();
        if (child == 0) _exit(in_child(0));
    } else if (!strcmp(what, "clone")) {
        child = clone(in_child, stack + STACK, CLONE_VM | SIGCHLD, 0);
    } else if (!strcmp(what, "untraced")) {
        say("ready\n");
        letter();
        child = clone(in_child, stack + STACK, CLONE_VM | CLONE_UNTRACED | SIGCHLD, 0);
    }
    end_of(child);
    for (int i = 0; i < 3; i++) work(1);
    say("parent\n");
    letter();
    for (int i = 0; i < 3; i++) work(1);
    say("done\n");
    return 0;
}
