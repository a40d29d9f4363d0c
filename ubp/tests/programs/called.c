// Makes system calls, as its first argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// getppid, by an instruction that a breakpoint can be on.
__attribute__((noinline)) long parent(void) {
#if defined(__x86_64__)
    long result = SYS_getppid;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
#elif defined(__i386__)
    long result = SYS_getppid;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result;
#else
    register long number __asm__("x8") = SYS_getppid;
    register long result __asm__("x0");
    __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "memory");
    return result;
#endif
}

static void handler(int signal) { (void)signal; }

static void handle(int signal, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, 0);
}

// From here on getppid fails with error 42, and a number that no call has kills.
static void confine(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 42),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1 << 20, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) abort();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    char byte = 0;
    long sum = 0;
    alarm(60);
    if (!strcmp(what, "confined")) confine();
    for (int i = 0; i < 5 && strcmp(what, "read"); i++) sum += parent() > 0;
    if (!strcmp(what, "read")) {
        handle(SIGUSR1, SA_RESTART);
        handle(SIGUSR2, 0);
        errno = 0;
        while (read(0, &byte, 1) < 0) printf("error %d\n", errno);
    }
    printf("%ld %d\n", sum, byte);
    return 8;
}
