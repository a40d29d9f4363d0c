// Makes processes in every way; each calls `work` a known number of times. The first argument names the case.
#define _GNU_SOURCE
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

extern char **environ;

static volatile long sink;

__attribute__((noinline)) long work(long n) {
    sink = n;
    return n * 3 + 1;
}

__attribute__((noinline)) static int many(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += work(i);
    return (int)(sum & 63);
}

static int wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

__attribute__((noinline)) static void fork_case(void) {
    int inherited = many(5);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) _exit(many(10 + i));
        printf("fork %d %d\n", i, wait_for(child));
    }
    printf("inherited %d\n", inherited);
}

__attribute__((noinline)) static void vfork_case(char *self) {
    for (int i = 0; i < 5; i++) {
        pid_t child = vfork();
        if (child == 0) {
            if (i % 2) execl(self, self, "leaf", (char *)0);
            _exit(many(7));
        }
        printf("vfork %d %d\n", i, wait_for(child));
    }
}

__attribute__((noinline)) static void spawn_case(char *self) {
    char *arguments[] = {self, "leaf", 0};
    for (int i = 0; i < 5; i++) {
        pid_t child;
        if (posix_spawn(&child, self, 0, 0, arguments, environ)) abort();
        many(1);
        printf("spawn %d %d\n", i, wait_for(child));
    }
}

static int in_clone(void *argument) { return many((long)argument); }

__attribute__((noinline)) static void clone_case(void) {
    char *stack = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child = clone(in_clone, stack + (1 << 16), CLONE_VM | SIGCHLD, (void *)9);
    printf("clone vm %d\n", wait_for(child));
    child = clone(in_clone, stack + (1 << 16), SIGCHLD, (void *)11);
    printf("clone %d\n", wait_for(child));
    child = clone(in_clone, stack + (1 << 16), 0, (void *)12);
    int status;
    waitpid(child, &status, __WALL);
    printf("clone silent %d\n", WEXITSTATUS(status));
}

static void *exec_from_thread(void *argument) {
    many(3);
    execl(argument, argument, "leaf", (char *)0);
    return 0;
}

static void *spin(void *argument) {
    (void)argument;
    for (;;) many(1);
}

__attribute__((noinline)) static void thread_exec_case(char *self) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, spin, 0);
    pthread_create(&thread, 0, exec_from_thread, self);
    for (;;) pause();
}

static void *after_leader(void *argument) {
    pthread_join(*(pthread_t *)argument, 0);
    printf("leader gone %d\n", many(6));
    exit(7);
}

__attribute__((noinline)) static void leader_case(void) {
    static pthread_t leader;
    pthread_t thread;
    leader = pthread_self();
    pthread_create(&thread, 0, after_leader, &leader);
    pthread_exit(0);
}

static void *fork_in_thread(void *argument) {
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) _exit(many((long)argument));
        wait_for(child);
    }
    return 0;
}

__attribute__((noinline)) static void threads_case(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, fork_in_thread, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("threads forked\n");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    setvbuf(stdout, 0, _IOLBF, 0);
    if (!strcmp(name, "leaf")) {
        int code = many(4);
        printf("leaf %d\n", code);
        return code;
    }
    if (!strcmp(name, "fork")) fork_case();
    if (!strcmp(name, "vfork")) vfork_case(argv[0]);
    if (!strcmp(name, "spawn")) spawn_case(argv[0]);
    if (!strcmp(name, "clone")) clone_case();
    if (!strcmp(name, "thread_exec")) thread_exec_case(argv[0]);
    if (!strcmp(name, "leader")) leader_case();
    if (!strcmp(name, "threads")) threads_case();
    return 3;
}
