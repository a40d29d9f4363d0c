// A program with one library, which is made with `-DLIBRARY`. Neither uses a C library: nearly all that is executed is the dynamic linker.

enum { ROUNDS = 8 };

#ifdef LIBRARY

static unsigned first(unsigned value) { return value * 3 + 1; }
static unsigned second(unsigned value) { return value >> 1; }

// Relocated when the library is loaded.
static unsigned (*const steps[])(unsigned) = {first, second};

unsigned collatz(unsigned value) {
    unsigned number = 0;
    for (; value != 1; number++) value = steps[value % 2 == 0](value);
    return number;
}

static unsigned twice(unsigned value) { return value * 2; }

// Chosen when it is first called.
static unsigned (*choose(void))(unsigned) { return twice; }
unsigned chosen(unsigned value) __attribute__((ifunc("choose")));

#else

unsigned collatz(unsigned value);
unsigned chosen(unsigned value);

__attribute__((noreturn)) static void leave(long status) {
#ifdef __aarch64__
    register long number __asm__("x8") = 93;
    register long first __asm__("x0") = status;
    __asm__ volatile("svc 0" : : "r"(number), "r"(first));
#else
    __asm__ volatile("syscall" : : "a"(60), "D"(status));
#endif
    __builtin_unreachable();
}

// 27 takes 111 steps.
void _start(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++) sum += chosen(collatz(27));
    leave(sum == ROUNDS * 222 ? 7 : 1);
}

#endif
