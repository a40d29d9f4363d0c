/* What shows that a program is single-stepped, and what steps badly. Each part says what it saw; the output is the same alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t traps, alarms, segvs;
static sigjmp_buf back;

static void on_trap(int n) { (void)n; traps++; }
static void on_alarm(int n) { (void)n; alarms++; }
static void on_segv(int n) { (void)n; segvs++; siglongjmp(back, 1); }

static unsigned long trap_flag_of_pushf(void) {
    unsigned long flags;
#ifdef __x86_64__
    asm volatile("sub $256, %%rsp; pushf; pop %0; add $256, %%rsp" : "=r"(flags)::"memory");
#else
    asm volatile("pushf; pop %0" : "=r"(flags)::"memory");
#endif
    return flags >> 8 & 1;
}

static void flags(void) {
    unsigned short word;
    asm volatile("pushfw; popw %0" : "=r"(word)::"memory");
    printf("pushf %lu pushfw %d\n", trap_flag_of_pushf(), word >> 8 & 1);
    asm volatile("pushf; popf" ::: "cc", "memory");
    printf("popf, then %lu\n", trap_flag_of_pushf());
#ifdef __x86_64__
    unsigned long r11, rax = SYS_getppid;
    asm volatile("syscall; mov %%r11, %1" : "+a"(rax), "=r"(r11)::"rcx", "r11", "memory");
    printf("r11 %lu\n", r11 >> 8 & 1);
#endif
}

static void shadows(void) {
    unsigned long flags;
    int value = 1;
    asm volatile("mov %%ss, %%ecx; mov %%ecx, %%ss; add $2, %0" : "+r"(value)::"ecx", "cc");
    asm volatile("mov %%ss, %%ecx; mov %%ecx, %%ss; pushf; pop %0" : "=r"(flags)::"ecx", "memory");
    printf("mov ss %d, pushf behind it %lu\n", value, flags >> 8 & 1);
#ifndef __x86_64__
    asm volatile("push %%ss; pop %%ss; add $2, %0" : "+r"(value)::"cc", "memory");
    printf("pop ss %d\n", value);
#endif
    char table[10];
    asm volatile("sgdt %0; incl %1" : "=m"(table), "+r"(value)::"cc");
    printf("sgdt %d\n", value);
}

static void traps_of_its_own(void) {
    struct sigaction action = {.sa_handler = on_trap};
    sigaction(SIGTRAP, &action, NULL);
    asm volatile("int3");
    raise(SIGTRAP);
    printf("traps %d\n", (int)traps);
    traps = 0;
    asm volatile("pushf; orl $0x100, (%%" 
#ifdef __x86_64__
    "rsp"
#else
    "esp"
#endif
    "); popf; nop; nop; pushf; andl $~0x100, (%%"
#ifdef __x86_64__
    "rsp"
#else
    "esp"
#endif
    "); popf" ::: "cc", "memory");
    printf("steps itself, %d traps\n", (int)traps);
    /* The handler must survive that the program blocks the signal. */
    sigset_t set, old;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    for (volatile int i = 0; i < 10; i++) {}
    sigset_t seen;
    sigprocmask(SIG_BLOCK, NULL, &seen);
    printf("SIGTRAP blocked %d\n", sigismember(&seen, SIGTRAP));
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigaction(SIGTRAP, NULL, &action);
    printf("handler kept %d\n", action.sa_handler == on_trap);
}

static void strings(void) {
    static char from[100], to[100];
    memset(from, 'x', 99);
    char *source = from, *target = to;
    unsigned long count = 100;
    asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
    printf("rep movsb %d %zu\n", strcmp(from, to), strlen(to));
    count = 0;
    asm volatile("rep stosb" : "+D"(target), "+c"(count) : "a"(0) : "memory");
    target = to;
    count = -1;
    asm volatile("repne scasb" : "+D"(target), "+c"(count) : "a"(0) : "memory", "cc");
    printf("repne scasb %d\n", (int)(target - to));
}

static void signals(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    int ends[2];
    if (pipe(ends)) return;
    pid_t child = fork();
    if (child == 0) {
        struct timespec time = {0, 30000000};
        nanosleep(&time, NULL);
        kill(getppid(), SIGALRM);
        kill(getppid(), SIGWINCH);
        nanosleep(&time, NULL);
        if (write(ends[1], "!", 1) != 1) _exit(1);
        _exit(3);
    }
    char byte;
    ssize_t got = read(ends[0], &byte, 1);
    int status;
    waitpid(child, &status, 0);
    printf("read %zd, alarms %d, child %d\n", got, (int)alarms, WEXITSTATUS(status));
    struct timespec wait = {0, 1000000};
    printf("sigtimedwait %d\n", nanosleep(&wait, NULL));
    action.sa_handler = on_segv;
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(back, 1)) *(volatile char *)8 = 1;
    void (*nowhere)(void) = (void (*)(void))16;
    if (!sigsetjmp(back, 1)) nowhere();
    printf("segvs %d\n", (int)segvs);
}

static void changing_code(void) {
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        unsigned char body[] = {0xb8, (unsigned char)i, 0, 0, 0, 0xc3};
        /* Alternately an instruction longer. */
        unsigned char other[] = {0xb8, (unsigned char)i, 1, 0, 0, 0x90, 0xc3};
        if (i & 1) memcpy(code, other, sizeof other); else memcpy(code, body, sizeof body);
        sum += ((int (*)(void))code)();
    }
    printf("changing code %d\n", sum);
}

int main(int count, char **arguments) {
    (void)arguments;
    setvbuf(stdout, NULL, _IONBF, 0);
    char go;
    /* With an argument it waits to be attached to. */
    if (count > 1 && read(0, &go, 1) != 1) return 1;
    flags();
    shadows();
    traps_of_its_own();
    strings();
    signals();
    changing_code();
#ifdef __x86_64__
    time_t (*vsyscall_time)(time_t *) = (time_t (*)(time_t *))0xffffffffff600400;
    printf("vsyscall %d\n", vsyscall_time(NULL) > 1000000000);
#endif
    return 7;
}
