// Makes a child by fork and one by vfork, which executes a program.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int inner(int n) {
    return n + 1; // INNER
}

int main(void) {
    int first, second;
    pid_t child = fork();
    if (child == 0)
        _exit(inner(6));
    if (waitpid(child, &first, 0) != child)
        return 1;
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 4", (char *)0);
        _exit(1);
    }
    if (waitpid(child, &second, 0) != child)
        return 2;
    printf("%d %d\n", WEXITSTATUS(first), WEXITSTATUS(second));
    return inner(1);
}
