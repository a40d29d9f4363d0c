// Calls `probe` with all kinds of numbers and pointers, in some threads if told. The first argument is the number of rounds. With a third one it
// waits for a byte before.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define POINTERS 8

static volatile sig_atomic_t faults;
static long word;

// Keeps its arguments in registers that no code overwrites, and flags alive.
__attribute__((naked, noinline)) long probe(long n, void *p, long m) {
    __asm__("mov %rdi, %rax\n add %rdx, %rax\n mov %rax, %rcx\n adc $0, %rcx\n lea (%rcx, %rdi), %rax\n ret");
}

static void on_segv(int signal) {
    (void)signal;
    faults++;
    _exit(99);
}

static long rounds;

static void *loop(void *argument) {
    char *none = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *last = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(last + 4096, 4096);
    // Behind the end of its file.
    int file = memfd_create("file", 0);
    char *gone = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    void *pointers[POINTERS] = {&word, 0,    (void *)0x8000000000000000, (void *)0xffffffff81000000,
                                none,  last, last + 4092, gone};
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        if (!argument) word = i * 0x0101;
        // Registers that no argument of probe is in are no pointers.
        __asm__ volatile("xor %%ecx, %%ecx\n xor %%r8d, %%r8d\n xor %%r9d, %%r9d" : : : "rcx", "r8", "r9");
        sum += probe(i * 0x1000000000000007 + (i & 0xff) - 128, pointers[i % POINTERS], -i);
    }
    return (void *)sum;
}

int main(int argc, char **argv) {
    signal(SIGSEGV, on_segv);
    signal(SIGBUS, on_segv);
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    rounds = argc > 1 ? atol(argv[1]) : 10;
    pthread_t threads[3];
    int count = argc > 2 ? atoi(argv[2]) : 0;
    for (long i = 0; i < count; i++) pthread_create(&threads[i], 0, loop, (void *)1);
    long sum = (long)loop((void *)(long)(count > 0));
    for (long i = 0; i < count; i++) {
        void *more;
        pthread_join(threads[i], &more);
        sum += (long)more;
    }
    printf("%ld %d\n", sum, (int)faults);
    return 0;
}
