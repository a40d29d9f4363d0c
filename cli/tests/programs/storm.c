// Creates threads and processes in every way, without a pause, until its standard input ends; each calls `work`. Prints what went wrong and
// exits with 9, or prints "done". The letters of the first argument are the actions that each thread performs, one after another.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define STACK (64 << 10)

extern char **environ;
static char *self;
static const char *letters;
static volatile long sink;

__attribute__((noinline)) long work(long n) {
    sink += n;
    return n;
}

static void fail(const char *what, int status) {
    printf("%s: %x\n", what, status);
    fflush(stdout);
    _exit(9);
}

static int is_over(void) {
    struct pollfd in = {0, POLLIN, 0};
    char byte;
    return poll(&in, 1, 0) == 1 && read(0, &byte, 1) == 0;
}

static void end_of(pid_t child, const char *what) {
    int status;
    pid_t found;
    while ((found = waitpid(child, &status, __WALL)) == -1 && errno == EINTR) {}
    if (found != child || status != 0) fail(what, found == child ? status : -errno);
}

static int in_child(void *argument) {
    for (long i = 0; i < 3; i++) work((long)argument);
    return 0;
}

static void *in_thread(void *argument) {
    in_child(argument);
    return 0;
}

static void run(char letter, char *stack) {
    int status;
    pid_t child;
    char *leaf[] = {self, "leaf", 0};
    pthread_t thread;
    switch (letter) {
    case 's': // posix_spawn
        if (posix_spawn(&child, self, 0, 0, leaf, environ)) fail("posix_spawn", errno);
        end_of(child, "spawned");
        break;
    case 'v': // vfork
        child = vfork();
        if (child == 0) {
            work(1);
            _exit(0);
        }
        end_of(child, "vfork");
        break;
    case 'e': // vfork and exec
        child = vfork();
        if (child == 0) {
            execv(self, leaf);
            _exit(1);
        }
        end_of(child, "vfork and exec");
        break;
    case 'm': // a process in the same memory
    case 'u': // the same, hidden from tracers
        child = clone(in_child, stack + STACK, CLONE_VM | (letter == 'u' ? CLONE_UNTRACED : 0) | SIGCHLD, (void *)1);
        if (child < 0) fail("clone", errno);
        end_of(child, letter == 'u' ? "untraced clone" : "clone");
        break;
    case 'f': // fork
        child = fork();
        if (child == 0) _exit(in_child((void *)1));
        end_of(child, "fork");
        break;
    case 't': // a thread
        // The kernel refuses a new thread while another thread executes a program.
        while ((status = pthread_create(&thread, 0, in_thread, (void *)1)) == EAGAIN) sched_yield();
        if (status) fail("pthread_create", status);
        pthread_join(thread, 0);
        break;
    }
    work(1);
}

static void *loop(void *argument) {
    char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *at = letters + (long)argument % strlen(letters);
    while (!is_over()) {
        run(*at++, stack);
        if (!*at) at = letters;
    }
    return 0;
}

int main(int argc, char **argv) {
    self = argv[0];
    letters = argc > 1 ? argv[1] : "";
    if (!strcmp(letters, "leaf")) return in_child((void *)1);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, loop, (void *)i);
    if (strchr(letters, 'x')) { // executes itself, again and again
        usleep(20000);
        if (!is_over()) execv(self, argv);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("done\n");
    return 0;
}
