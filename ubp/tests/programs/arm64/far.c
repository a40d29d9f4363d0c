// Calls code that lies in the middle of so much reserved memory that nothing free is within reach of a branch.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const uint32_t code[] = {
    0x11001400, // add w0, w0, #5
    0x10000001, // adr x1, .
    0xa9bf7be0, // stp x0, x30, [sp, #-16]!
    0x9400000e, // bl double
    0xa8c17be1, // ldp x1, x30, [sp], #16
    0x0b010000, // add w0, w0, w1
    0x180001c1, // ldr w1, literal
    0x0b010000, // add w0, w0, w1
    0x980001a1, // ldrsw x1, literal + 4
    0x8b010000, // add x0, x0, x1
    0x58000141, // ldr x1, literal
    0x8b010000, // add x0, x0, x1
    0xd8000100, // prfm pldl1keep, literal
    0x10000003, // adr x3, .
    0x885f7c62, // ldxr w2, [x3]
    0xd5033f5f, // clrex
    0xd65f03c0, // ret
    0x0b000000, // double: add w0, w0, w0
    0xd65f03c0, // ret
    0xd503201f, // nop
    0x12345678, // literal
    0xfedcba98,
};

__attribute__((noinline)) void made(void *code) { __asm__ volatile("" ::"r"(code) : "memory"); }

int main(void) {
    size_t half = (size_t)200 << 20;
    char *all = mmap(0, 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return 9;
    char *page = all + half;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    memcpy(page, code, sizeof code);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(page, page + sizeof code);
    made(page);
    long (*function)(int) = (long (*)(int))(uintptr_t)page;
    long sum = 0;
    for (int i = 0; i < 10; i++) sum += function(i);
    printf("%ld\n", sum);
    return 0;
}
