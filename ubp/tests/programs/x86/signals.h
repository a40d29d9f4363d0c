// What the handlers of signals.c see of single instructions of x86-64.

#define REGISTER(context, name) ((ucontext_t *)(context))->uc_mcontext.gregs[name]

extern char at_load[], at_ud2[], at_div[], at_int3[], at_call[], at_push[], at_store[], at_trap[], at_read[];

static uintptr_t *pc_of(void *context) { return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]; }

static void on_segv(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    if (fixed) REGISTER(context, REG_RBX) = fixed;
}

static void on_skip2(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    PC(context) += 2;
}

static void on_div(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    REGISTER(context, REG_RBX) = 5;
}

__attribute__((noinline)) static void load_case(void) {
    long good = 42, result;
    catch(SIGSEGV, on_segv, 0);
    fixed = (uintptr_t)&good;
    __asm__ volatile("at_load: mov (%%rbx), %0" : "=r"(result) : "b"(0x123456000l));
    printf("load %ld caught %d pc %d address %lx code %d\n", result, caught, seen_pc == (uintptr_t)at_load, seen_address, seen_code);
}

__attribute__((noinline)) static void store_case(void) {
    char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    catch(SIGSEGV, on_map, 0);
    __asm__ volatile("at_store: movb $7, (%0)" ::"r"(page + 5) : "memory");
    printf("store %d caught %d pc %d address %d\n", page[5], caught, seen_pc == (uintptr_t)at_store, seen_address == (uintptr_t)page + 5);
}

__attribute__((noinline)) static void ud2_case(void) {
    catch(SIGILL, on_skip2, 0);
    __asm__ volatile("at_ud2: ud2");
    printf("ud2 caught %d pc %d address %d code %d\n", caught, seen_pc == (uintptr_t)at_ud2, seen_address == (uintptr_t)at_ud2, seen_code);
}

__attribute__((noinline)) static void div_case(void) {
    long quotient;
    catch(SIGFPE, on_div, 0);
    __asm__ volatile("at_div: idivq %%rbx" : "=a"(quotient) : "a"(35l), "d"(0l), "b"(0l));
    printf("div %ld caught %d pc %d address %d code %d\n", quotient, caught, seen_pc == (uintptr_t)at_div, seen_address == (uintptr_t)at_div, seen_code);
}

__attribute__((noinline)) static void int3_case(void) {
    catch(SIGTRAP, note, 0);
    __asm__ volatile("at_int3: int3");
    printf("int3 caught %d pc %d code %d\n", caught, seen_pc == (uintptr_t)at_int3 + 1, seen_code);
}

static void on_call(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    // Behind the call, as if it had returned.
    PC(context) = (uintptr_t)at_call + 2;
}

__attribute__((noinline)) static void call_case(void) {
    catch(SIGSEGV, on_call, 0);
    // Not canonical: the call itself faults.
    __asm__ volatile("at_call: call *%%rbx" ::"b"(0x8000000000000000ul) : "memory");
    printf("call caught %d pc %d address %lx code %d\n", caught, seen_pc == (uintptr_t)at_call, seen_address, seen_code);
}

static void on_push(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

__attribute__((noinline)) static void push_case(void) {
    char *stack = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t other = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&other, 0);
    catch(SIGSEGV, on_push, SA_ONSTACK);
    // A call (emulated) and a pushf whose stack is not writable yet.
    __asm__ volatile("mov %%rsp, %%r12\n\tmov %0, %%rsp\n\tat_push: call 1f\n1: pop %%rax\n\tmov %%r12, %%rsp" ::"r"(stack + 8192)
                     : "rax", "r12", "memory");
    printf("push caught %d pc %d address %d\n", caught, seen_pc == (uintptr_t)at_push, seen_address == (uintptr_t)stack + 8184);
}

// The first access below the stack's mapping is the push of a call.
__attribute__((noinline)) static void grow_by_call_case(void) {
    unsigned long start = 0, end;
    char line[256];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]")) sscanf(line, "%lx-%lx", &start, &end);
    fclose(maps);
    __asm__ volatile("mov %%rsp, %%r12\n\tmov %0, %%rsp\n\tcall 1f\n1: pop %%rax\n\tmov %%r12, %%rsp" ::"r"(start) : "rax", "r12", "memory");
    printf("grow by call %d\n", start != 0);
}

static volatile int steps;
static uintptr_t step_pcs[64];

static void on_step(int signal, siginfo_t *info, void *context) {
    (void)signal;
    if (steps < 64) step_pcs[steps] = PC(context) - (uintptr_t)at_int3;
    if ((uintptr_t)info->si_addr != (uintptr_t)PC(context)) caught++;
    steps++;
}

__attribute__((noinline)) static void trap_flag_case(void) {
    catch(SIGTRAP, on_step, 0);
    __asm__ volatile(
        "at_trap: pushf\n\torl $0x100, (%%rsp)\n\tpopf\n\t"
        "nop\n\tlea 1(%%rax), %%rax\n\tcall 2f\n\tjmp 3f\n2: ret\n3: push %%rax\n\tpop %%rax\n\t"
        "pushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\tnop" ::: "rax", "memory");
    printf("trap flag steps %d wrong %d:", steps, caught);
    for (int i = 0; i < steps && i < 64; i++) printf(" %lx", step_pcs[i] - ((uintptr_t)at_trap - (uintptr_t)at_int3));
    printf("\n");
}

// Whether a register is not as it is after the system call of `blocked_read`: it left its return address in rcx.
static int is_wrong_after_read(void *context) {
    uintptr_t behind = (uintptr_t)at_read + 2, pc = (uintptr_t)PC(context);
    return (pc == behind || pc == behind - 2) && (uintptr_t)REGISTER(context, REG_RCX) != behind;
}

// A read whose system call is an instruction of this function.
__attribute__((noinline)) static long blocked_read(int descriptor, char *byte) {
    long result;
    __asm__ volatile("at_read: syscall" : "=a"(result) : "0"(0l), "D"((long)descriptor), "S"(byte), "d"(1l) : "rcx", "r11", "memory");
    return result;
}

#define OWN_CASES                                                                                                          \
    {"load", load_case}, {"store", store_case}, {"ud2", ud2_case}, {"div", div_case}, {"int3", int3_case}, {"call", call_case}, \
        {"push", push_case}, {"growcall", grow_by_call_case}, {"trap", trap_flag_case},
