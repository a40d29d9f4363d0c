// Sleeps three times for a while, each time by another system call, and tells how that ended.
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) long nine(void) { return 9; }

int main(void) {
    struct timespec time = {1, 0};
    static int word;
    int naps[] = {nanosleep(&time, 0), clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0)};
    long waited = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, 0, 0);
    printf("%d %d %d %ld\n", naps[0], naps[1], waited == -1 && errno == ETIMEDOUT, nine());
    return 0;
}
