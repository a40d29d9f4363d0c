// Calls `work` under seccomp(2): strictly, or by a filter that kills for what the program itself does not do.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long work(long n) {
    sink += n;
    return n;
}

static int filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    (void)argc;
    char letter;
    if (!strcmp(argv[1], "filter") ? filter() : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 9;
    if (write(1, "ready\n", 6) != 6) return 1;
    while (read(0, &letter, 1) == 1) {
        work(1);
        if (write(1, "worked\n", 7) != 7) return 2;
    }
    syscall(SYS_exit, 0);
}
