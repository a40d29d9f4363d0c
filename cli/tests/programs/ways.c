/* Calls one function by three ways, each a known number of times, in this process and in a child. Ends with status 3. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) int leaf(int n) {
    return n + 1;
}

__attribute__((noipa)) int direct(int n) {
    return leaf(n) + 1;
}

__attribute__((noipa)) int deep(int n) {
    return n > 0 ? deep(n - 1) + 1 : leaf(n) + 1;
}

static int all(void) {
    int sum = 0;
    for (int i = 0; i < 30; i++)
        sum += direct(i);
    for (int i = 0; i < 20; i++)
        sum += deep(1);
    for (int i = 0; i < 10; i++)
        sum += leaf(i);
    return sum;
}

int main(void) {
    pid_t child = fork();
    int sum = all();
    if (child == 0)
        _exit(sum == 0);
    waitpid(child, 0, 0);
    printf("%d\n", sum);
    return 3;
}
