// Calls code that lies in the middle of so much reserved memory that nothing free is within reach of a branch.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// add w0, w0, #5; adr x1, .; stp x0, x30, [sp, #-16]!; bl .+16; ldp x1, x30, [sp], #16; add w0, w0, w1; ret; add w0, w0, w0; ret
static const uint32_t code[] = {0x11001400, 0x10000001, 0xa9bf7be0, 0x94000004, 0xa8c17be1,
                                0x0b010000, 0xd65f03c0, 0x0b000000, 0xd65f03c0};

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
    int (*function)(int) = (int (*)(int))(uintptr_t)page;
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += function(i);
    printf("%d\n", sum);
    return 0;
}
