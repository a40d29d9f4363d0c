// A 32-bit program: calls, system calls, a handler, a thread and a child.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int caught;
static void on_usr1(int signal) { (void)signal; caught++; }

__attribute__((noinline)) int work(int n) {
    char text[32];
    memset(text, n, sizeof text);
    return text[3] * 3 + 1;
}

static void *run(void *argument) {
    int sum = 0;
    for (int i = 0; i < 50; i++) sum += work(i) ^ getppid() * 0;
    return (void *)(long)(sum + (int)(long)argument);
}

int main(void) {
    pthread_t thread;
    void *result;
    setvbuf(stdout, 0, _IOLBF, 0);
    signal(SIGUSR1, on_usr1);
    pthread_create(&thread, 0, run, (void *)5);
    for (int i = 0; i < 20; i++) kill(getpid(), SIGUSR1);
    pthread_join(thread, &result);
    pid_t child = fork();
    if (child == 0) _exit(work(9));
    int status;
    waitpid(child, &status, 0);
    printf("%ld %d %d %d\n", (long)result, caught > 0, WEXITSTATUS(status), work(2));
    return 4;
}
