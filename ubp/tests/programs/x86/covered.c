// Functions into whose first five bytes other code branches, at every boundary and in the midst of instructions. Prints what each computes.
// With the argument "hot" alone, threads do that until a byte comes, and it prints how many results were wrong.
// Arguments: rounds, and the period of a timer in microseconds, or 0; a third makes it wait for a byte. The handler of the timer notes the pc that it interrupts.
// With HANDLES, it handles SIGILL, SIGTRAP, SIGSEGV and SIGBUS, and says what its handlers have seen of its own signals; a fourth argument makes it block all
// signals until then.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

long enter(void *at, long rax, long rdi);
// Adds rdi to rax, and carry, which instructions of one byte change.
long ones(long);
// Adds 1 by instructions of two, three and four bytes.
long twos(long), threes(long), fours(long);
// A conditional branch skips a prefix, as in the C library.
long skip(long);
// The loop begins within the first five bytes.
long loop(long);

__asm__(".text\n"
        ".globl enter, ones, twos, threes, fours, skip, loop, loop_end\n"
        "enter: mov %rsi, %rax; xchg %rdi, %rdx; clc; jmp *%rdx\n"
        "ones: clc; cmc; cmc; cmc; cmc; adc %rdi, %rax; ret\n"
        "twos: inc %eax; inc %eax; inc %eax; add %rdi, %rax; ret\n"
        "threes: inc %rax; inc %rax; inc %rax; add %rdi, %rax; ret\n"
        "fours: add $1, %rax; add $1, %rax; add %rdi, %rax; ret\n"
        "skip: .byte 0xf0, 0x48, 0x83, 0x44, 0x24, 0xf0, 0x01; add %rdi, %rax; ret\n"
        "loop: mov %edi, %eax; 1: add $3, %eax; dec %edi; jnz 1b; ret\n"
        "loop_end:\n");

static void *volatile functions[] = {ones, twos, threes, fours, skip};
static const int boundaries[][5] = {{0, 1, 2, 3, 4}, {0, 2, 4, -1, -1}, {0, 3, -1, -1, -1}, {0, 4, -1, -1, -1}, {0, 1, -1, -1, -1}};
static volatile long ticks, outside, sum;
// The code of the program, of its libraries and of the kernel.
static unsigned long known[64][2];
static int count;

static volatile int over;
static volatile long mistakes;

static void *branch(void *expected) {
    const long (*sums)[5] = expected;
    while (!over)
        for (int f = 0; f < 5; f++)
            for (int b = 0; b < 5 && boundaries[f][b] >= 0; b++)
                if (enter((char *)functions[f] + boundaries[f][b], 5, 7) != sums[f][b]) mistakes++;
    return 0;
}

static int be_hot(void) {
    static long sums[5][5];
    for (int f = 0; f < 5; f++)
        for (int b = 0; b < 5 && boundaries[f][b] >= 0; b++)
            sums[f][b] = enter((char *)functions[f] + boundaries[f][b], 5, 7);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, branch, sums);
    puts("ready");
    fflush(stdout);
    getchar();
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("wrong %ld\n", mistakes);
    return 0;
}

static void note_known(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (count < 64 && fgets(line, sizeof line, maps)) {
        unsigned long start, end, inode;
        char rights[8], name[256] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &start, &end, rights, &inode, name) >= 4 && rights[2] == 'x' &&
            (inode || name[0] == '['))
            known[count][0] = start, known[count++][1] = end;
    }
    fclose(maps);
}

static void on_tick(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    unsigned long pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    int found = 0;
    for (int i = 0; i < count; i++) found |= pc >= known[i][0] && pc < known[i][1];
    ticks++;
    if (!found) outside++;
}

#ifdef HANDLES
static char stack[1 << 16];
static volatile int illegal, traps, raised, wrong, segments, buses;
static char *gone;

static void on_own(int signal, siginfo_t *info, void *context) {
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    // The mask is that of the action, and the stack the alternative one.
    if (!sigismember(&mask, SIGUSR2) || sigismember(&mask, SIGUSR1) || sigismember(&mask, signal) != (signal == SIGBUS)) wrong++;
    if ((char *)&mask < stack || (char *)&mask >= stack + sizeof stack) wrong++;
    // The handler of SIGBUS counts one less.
    if (signal == SIGBUS) wrong++;
    if (info->si_code <= 0) {
        raised++;
    } else if (signal == SIGILL) {
        illegal++;
        if (info->si_addr != (void *)*pc) wrong++;
        *pc += 2;
    } else if (signal == SIGSEGV || signal == SIGBUS) {
        if (info->si_addr != (signal == SIGBUS ? gone : (char *)8)) wrong++;
        if (signal == SIGBUS) buses++;
        else segments++;
        *pc += 2;
    } else {
        traps++;
    }
}

static void on_bus(int signal, siginfo_t *info, void *context) {
    if (signal != SIGBUS) wrong++;
    wrong--;
    on_own(signal, info, context);
}

// A handler of one argument.
static void on_next(int signal) {
    if (signal == SIGTRAP) traps++;
    raised++;
}

static void handle(void) {
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, 0);
    struct sigaction action = {.sa_sigaction = on_own, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGILL, &action, 0);
    sigaction(SIGTRAP, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    action.sa_sigaction = on_bus;
    action.sa_flags &= ~SA_NODEFER;
    sigaction(SIGBUS, &action, 0);
}

static void signal_self(void) {
    // Behind the end of its file.
    gone = mmap(0, 4096, PROT_READ, MAP_SHARED, memfd_create("file", 0), 0);
    for (int i = 0; i < 3; i++) {
        __asm__ volatile("mov (%0), %%al" ::"a"(gone) : "memory");
        __asm__ volatile("mov (%0), %%al" ::"a"(8L) : "memory");
        raise(SIGBUS);
        __asm__ volatile("ud2" ::: "memory");
        __asm__ volatile("int3" ::: "memory");
        raise(SIGILL);
        raise(SIGTRAP);
    }
    // An action that it sets later is its own.
    struct sigaction action = {.sa_handler = on_next};
    sigaction(SIGTRAP, &action, 0);
    sigaction(SIGILL, &action, 0);
    raise(SIGILL);
    __asm__ volatile("int3" ::: "memory");
    printf("illegal %d traps %d raised %d wrong %d\n", illegal, traps, raised, wrong);
    printf("segments %d buses %d\n", segments, buses);
}
#endif

int main(int argc, char **argv) {
#ifdef HANDLES
    handle();
#endif
    if (argc == 2 && argv[1][0] == 'h') return be_hot();
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    int period = argc > 2 ? atoi(argv[2]) : 0;
    sigset_t blocked, before;
    sigfillset(&blocked);
    if (argc > 4) sigprocmask(SIG_SETMASK, &blocked, &before);
    if (argc > 3) {
        fprintf(stdout, "ready\n");
        fflush(stdout);
        getchar();
    }
    if (period) {
        note_known();
        struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(SIGALRM, &action, 0);
        struct timeval each = {0, period};
        setitimer(ITIMER_REAL, &(struct itimerval){each, each}, 0);
    }
    for (int f = 0; f < 5; f++) {
        for (int b = 0; b < 5 && boundaries[f][b] >= 0; b++) {
            long all = 0;
            for (long i = 0; i < rounds; i++) all += enter((char *)functions[f] + boundaries[f][b], i, 7);
            printf("%d+%d %ld\n", f, boundaries[f][b], all);
        }
    }
    long all = 0;
    for (long i = 0; i < rounds; i++) all += loop(i % 9 + 1);
    printf("loop %ld\n", all);
    // With a timer: until enough signals came.
    for (long i = 0; period && ticks < 200; i++) sum += enter((char *)functions[i % 5], i, 7);
    printf("outside %ld\n", outside);
#ifdef HANDLES
    sigprocmask(SIG_SETMASK, 0, &blocked);
    if (argc > 4) printf("blocked %d %d\n", sigismember(&blocked, SIGILL), sigismember(&blocked, SIGTRAP));
    if (argc > 4) sigprocmask(SIG_SETMASK, &before, 0);
    signal_self();
#endif
    return 0;
}
