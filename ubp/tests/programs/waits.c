// Waits uninterruptibly: for a child of vfork that ends when its input does.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    char byte;
    int status;
    setvbuf(stdout, 0, _IONBF, 0);
    pid_t child = vfork();
    if (!child) {
        if (write(1, "waits\n", 6) != 6) _exit(2);
        while (read(0, &byte, 1) > 0);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
