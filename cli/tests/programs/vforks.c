// Waits in vfork for a child that waits for a letter from standard input.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long beats;

__attribute__((noinline)) void beat(void) { beats++; }

int main(void) {
    char letter;
    int status;
    pid_t child = vfork();
    if (child == 0) {
        if (write(1, "child\n", 6) != 6 || read(0, &letter, 1) != 1) _exit(1);
        for (int i = 0; i < 2; i++) beat();
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) return 2;
    for (int i = 0; i < 3; i++) beat();
    printf("done %ld\n", beats);
    return 0;
}
