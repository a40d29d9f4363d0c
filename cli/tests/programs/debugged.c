// A program to debug: threads that call a function, a child, a command, and what the first argument asks for.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int total;
volatile int handled;

__attribute__((noinline)) int work(int i, const char *who) {
    int twice = 2 * i;
    __atomic_fetch_add(&total, twice, __ATOMIC_RELAXED);
    return who ? twice : 0;
}

static void *thread(void *unused) {
    for (int i = 0; i < 50; i++)
        work(i, "thread");
    return unused;
}

static void handle(int signal) { handled += signal; }

static int calls(void) {
    for (int i = 0; i < 200; i++)
        work(i, "main");
    return 5;
}

static int threads(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], 0, thread, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], 0);
    return 6;
}

static int children(char *self) {
    int status = 0;
    if (!fork()) {
        work(7, "child");
        execl(self, self, "calls", (char *)0);
        _exit(99);
    }
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    status = system("exit 3");
    work(9, "after");
    return status == 3 << 8 ? 8 : 9;
}

static int signals(void) {
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    *(volatile int *)16 = handled;
    return 1;
}

static int waits(void) {
    char byte;
    puts("waiting");
    fflush(stdout);
    return read(0, &byte, 1) == 1 ? byte : 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "calls";
    int status = !strcmp(what, "threads")    ? threads()
                 : !strcmp(what, "children") ? children(argv[0])
                 : !strcmp(what, "signals")  ? signals()
                 : !strcmp(what, "waits")    ? waits()
                                             : calls();
    printf("total %d\n", total);
    return status;
}
