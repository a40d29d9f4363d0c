// Threads that block in system calls, most of which the kernel does not restart by itself, and threads that compute; after a byte
// on standard input it tells what each saw.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Is called while the threads wait.
long seven(void) { return 7; }

// Seconds that no machine takes for a test, however slow it is.
enum { BEHIND_THE_END = 1000000 };

static atomic_int interrupted, unexpected, finished;
static int ends[2], sockets[2], futex_word, semaphores, messages;
static atomic_int stop;

static void note(const char *name, long result, long expected) {
    if (result == expected) {
        atomic_fetch_add(&finished, 1);
    } else if (result < 0 && errno == EINTR) {
        printf("%s: EINTR\n", name);
        atomic_fetch_add(&interrupted, 1);
    } else {
        printf("%s: %ld errno %d\n", name, result, errno);
        atomic_fetch_add(&unexpected, 1);
    }
}

static void *in_epoll(void *a) {
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    note("epoll_wait", epoll_wait(set, &event, 1, -1), 1);
    return a;
}
static void *in_poll(void *a) {
    struct pollfd wanted = {ends[0], POLLIN, 0};
    note("poll", poll(&wanted, 1, -1), 1);
    return a;
}
static void *in_futex(void *a) {
    note("futex", syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, 0, 0, 0), 0);
    return a;
}
static void *in_futex_timeout(void *a) {
    struct timespec time = {BEHIND_THE_END, 0};
    note("futex with timeout", syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &time, 0, 0), 0);
    return a;
}
static void *in_nanosleep(void *a) {
    struct timespec time = {0, 400 * 1000 * 1000};
    while (!atomic_load(&stop)) {
        int result = nanosleep(&time, 0);
        if (result) note("nanosleep", result, 0);
    }
    note("nanosleep", 0, 0);
    return a;
}
static void *in_recv(void *a) {
    struct timeval time = {BEHIND_THE_END, 0};
    char byte;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    note("recv with timeout", recv(sockets[0], &byte, 1, 0), 1);
    return a;
}
static void *in_sigtimedwait(void *a) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    note("sigwaitinfo", sigwaitinfo(&set, 0), SIGUSR2);
    return a;
}
static void *in_semop(void *a) {
    struct sembuf take = {0, -1, 0};
    note("semop", semop(semaphores, &take, 1), 0);
    return a;
}
static void *in_msgrcv(void *a) {
    struct { long type; char text[8]; } message;
    note("msgrcv", msgrcv(messages, &message, 8, 0, 0), 8);
    return a;
}
static void *in_inotify(void *a) {
    int watch = inotify_init1(0);
    char buffer[512];
    inotify_add_watch(watch, "/tmp", IN_ATTRIB);
    while (!atomic_load(&stop)) {
        struct pollfd wanted = {watch, POLLIN, 0};
        if (poll(&wanted, 1, 100) == 1) {
            long result = read(watch, buffer, sizeof buffer);
            if (result < 0) note("inotify", result, 0);
        }
    }
    note("inotify", 0, 0);
    return a;
}
__attribute__((noinline)) long compute(long n) { return n * 7 + 1; }
static volatile long sink;
static void *in_user(void *a) {
    while (!atomic_load(&stop)) sink = compute(sink);
    note("compute", 0, 0);
    return a;
}

int main(void) {
    static void *(*const functions[])(void *) = {in_epoll,        in_poll,  in_futex,  in_futex_timeout, in_nanosleep, in_recv,
                                                 in_sigtimedwait, in_semop, in_msgrcv, in_inotify,       in_user};
    enum { COUNT = sizeof functions / sizeof *functions };
    pthread_t threads[COUNT];
    char byte;
    sigset_t set;
    setvbuf(stdout, 0, _IOLBF, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, 0);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    messages = msgget(IPC_PRIVATE, 0600);
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || semaphores < 0 || messages < 0) return 99;
    for (int i = 0; i < COUNT; i++) pthread_create(&threads[i], 0, functions[i], 0);
    printf("ready\n");
    note("read", read(0, &byte, 1), 1);
    atomic_store(&stop, 1);
    if (write(ends[1], "x", 1) != 1 || write(sockets[1], "x", 1) != 1) return 98;
    kill(getpid(), SIGUSR2);
    struct sembuf give = {0, 1, 0};
    struct { long type; char text[8]; } message = {1, "1234567"};
    semop(semaphores, &give, 1);
    msgsnd(messages, &message, 8, 0);
    for (int woken = 0; woken < 2;) woken += (int)syscall(SYS_futex, &futex_word, FUTEX_WAKE, 9, 0, 0, 0);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], 0);
    semctl(semaphores, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, 0);
    printf("finished %d interrupted %d unexpected %d\n", finished, interrupted, unexpected);
    return interrupted + unexpected;
}
