// What the handlers of signals.c see of single instructions of AArch64.

#define X(context, number) ((ucontext_t *)(context))->uc_mcontext.regs[number]

extern char at_load[], at_store[], at_udf[], at_brk[], at_call[], at_read[];

static uintptr_t *pc_of(void *context) { return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.pc; }

static void on_segv(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    if (fixed) X(context, 19) = fixed;
}

static void on_skip(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    PC(context) += 4;
}

__attribute__((noinline)) static void load_case(void) {
    long good = 42;
    register long result __asm__("x19") = 0x123456000l;
    catch(SIGSEGV, on_segv, 0);
    fixed = (uintptr_t)&good;
    __asm__ volatile("at_load: ldr x19, [x19]" : "+r"(result)::"memory");
    printf("load %ld caught %d pc %d address %lx code %d\n", result, caught, seen_pc == (uintptr_t)at_load, seen_address, seen_code);
}

__attribute__((noinline)) static void store_case(void) {
    char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    catch(SIGSEGV, on_map, 0);
    __asm__ volatile("at_store: strb %w1, [%0]" ::"r"(page + 5), "r"(7) : "memory");
    printf("store %d caught %d pc %d address %d\n", page[5], caught, seen_pc == (uintptr_t)at_store, seen_address == (uintptr_t)page + 5);
}

__attribute__((noinline)) static void udf_case(void) {
    catch(SIGILL, on_skip, 0);
    __asm__ volatile("at_udf: udf #0");
    printf("udf caught %d pc %d address %d code %d\n", caught, seen_pc == (uintptr_t)at_udf, seen_address == (uintptr_t)at_udf, seen_code);
}

__attribute__((noinline)) static void brk_case(void) {
    catch(SIGTRAP, on_skip, 0);
    __asm__ volatile("at_brk: brk #1");
    printf("brk caught %d pc %d address %d code %d\n", caught, seen_pc == (uintptr_t)at_brk, seen_address == (uintptr_t)at_brk, seen_code);
}

static void on_call(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    wrong += X(context, 30) != (uintptr_t)at_call + 4;
    PC(context) = X(context, 30);
}

__attribute__((noinline)) static void call_case(void) {
    catch(SIGSEGV, on_call, 0);
    // No code is there: what is called faults, with the return address in x30.
    register char *target __asm__("x19") = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    __asm__ volatile("at_call: blr x19" ::"r"(target) : "x30", "memory");
    printf("call caught %d pc %d address %d code %d wrong %d\n", caught, seen_pc == (uintptr_t)target, seen_address == (uintptr_t)target,
           seen_code, wrong);
}

// Whether a register is not as it is at the system call of `blocked_read` and behind it: the number is in x8.
static int is_wrong_after_read(void *context) {
    uintptr_t behind = (uintptr_t)at_read + 4, pc = PC(context);
    return (pc == behind || pc == behind - 4) && X(context, 8) != SYS_read;
}

// A read whose system call is an instruction of this function.
__attribute__((noinline)) static long blocked_read(int descriptor, char *byte) {
    register long number __asm__("x8") = SYS_read;
    register long result __asm__("x0") = descriptor;
    register char *to __asm__("x1") = byte;
    register long size __asm__("x2") = 1;
    __asm__ volatile("at_read: svc #0" : "+r"(result) : "r"(number), "r"(to), "r"(size) : "memory");
    return result;
}

#define OWN_CASES {"load", load_case}, {"store", store_case}, {"udf", udf_case}, {"brk", brk_case}, {"call", call_case},
