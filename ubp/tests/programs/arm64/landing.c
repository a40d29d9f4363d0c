// Branches to code in a guarded page and in another one, at its landing pad and beside it, and tells what came of each.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { GUARDED = 0x10, LANDING_PADS = 1 << 17 };

// bti c; mov w0, #5; adr x1, .; ret
static const uint32_t code[] = {0xd503245f, 0x528000a0, 0x10000001, 0xd65f03c0};
static volatile uintptr_t page, pc, address;
static volatile int caught;

static void on_ill(int signal, siginfo_t *info, void *context) {
    mcontext_t *at = &((ucontext_t *)context)->uc_mcontext;
    (void)signal;
    caught++;
    pc = at->pc - page;
    address = (uintptr_t)info->si_addr - page;
    at->regs[0] = 0;
    at->pc = at->regs[30];
    at->pstate &= ~(3ul << 10);
}

__attribute__((noinline)) static long call(uintptr_t at) {
    register long result __asm__("x0");
    __asm__ volatile("blr %1" : "=r"(result) : "r"(at) : "x1", "x30", "memory");
    return result;
}

// Called with the code of each page.
__attribute__((noinline)) void made(void *first, void *second) { __asm__ volatile("" ::"r"(first), "r"(second) : "memory"); }

int main(void) {
    struct sigaction action = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
    int guard = getauxval(AT_HWCAP2) & LANDING_PADS ? GUARDED : 0;
    uintptr_t pages[2];
    for (int number = 0; number < 2; number++) {
        void *place = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(place, code, sizeof code);
        mprotect(place, 4096, PROT_READ | PROT_EXEC | (number ? 0 : guard));
        __builtin___clear_cache(place, (char *)place + sizeof code);
        pages[number] = (uintptr_t)place;
    }
    made((void *)pages[0], (void *)pages[1]);
    for (int number = 0; number < 2; number++)
        for (int at = 0; at < 3; at++) {
            page = pages[number];
            caught = 0;
            pc = address = 0;
            long result = call(page + 4 * at);
            printf("guarded %d at %d: %ld caught %d pc %lx address %lx\n", guard && !number, at, at == 2 ? 0 : result, caught, pc, address);
        }
    return 0;
}
