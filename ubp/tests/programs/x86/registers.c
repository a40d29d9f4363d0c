// Loads every register with a pattern, lets a tracer change them at `held`, and checks what they are then.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    uint8_t vector[32][64];
    uint8_t mask[8][8];
    uint8_t stack[8][16];
    uint32_t mxcsr, unused[15];
    uint8_t general[12][8];
} __attribute__((aligned(64)));

static struct state in, out;

// Byte `at` of register `reg` before the tracer (phase 0) and after it (phase 1).
static uint8_t byte(int reg, int at, int phase) { return (uint8_t)(reg * 37 + at * 11 + phase * 101); }

static void fill(struct state *state, int phase) {
    for (int reg = 0; reg < 32; reg++)
        for (int at = 0; at < 64; at++) state->vector[reg][at] = byte(reg, at, phase);
    for (int reg = 0; reg < 8; reg++) {
        for (int at = 0; at < 8; at++) state->mask[reg][at] = byte(reg + 32, at, phase);
        for (int at = 0; at < 8; at++) state->stack[reg][at] = byte(reg + 40, at, phase);
        // A normal number: the topmost bit of the mantissa is set.
        state->stack[reg][7] |= 0x80;
        state->stack[reg][8] = byte(reg + 40, 8, phase);
        state->stack[reg][9] = 0x40;
    }
    for (int reg = 0; reg < 12; reg++)
        for (int at = 0; at < 8; at++) state->general[reg][at] = byte(reg + 48, at, phase);
    state->mxcsr = phase ? 0x9fc0 : 0x1f80;
}

#define EACH8(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)
#define EACH16(x) EACH8(x) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define EACH32(x) EACH16(x) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31)
#define LOAD_ZMM(n) "vmovdqu64 64*" #n "(%rdi), %zmm" #n "\n"
#define SAVE_ZMM(n) "vmovdqu64 %zmm" #n ", 64*" #n "(%r15)\n"
#define LOAD_YMM(n) "vmovdqu 64*" #n "(%rdi), %ymm" #n "\n"
#define SAVE_YMM(n) "vmovdqu %ymm" #n ", 64*" #n "(%r15)\n"
#define LOAD_XMM(n) "movdqu 64*" #n "(%rdi), %xmm" #n "\n"
#define SAVE_XMM(n) "movdqu %xmm" #n ", 64*" #n "(%r15)\n"
#define LOAD_K(n) "kmovq 2048+8*" #n "(%rdi), %k" #n "\n"
#define SAVE_K(n) "kmovq %k" #n ", 2048+8*" #n "(%r15)\n"
#define SAVE_ST(n) "fstpt 2112+16*" #n "(%r15)\n"
#define LOAD_ST(n) "fldt 2112+16*" #n "(%rdi)\n"
#define GENERAL(x) x(0, rax) x(1, rbx) x(2, rcx) x(3, rdx) x(4, rsi) x(5, rbp) x(6, r8) x(7, r9) x(8, r10) x(9, r11) x(10, r12) x(11, r13)
#define LOAD_R(n, r) "mov 2304+8*" #n "(%rdi), %" #r "\n"
#define SAVE_R(n, r) "mov %" #r ", 2304+8*" #n "(%r15)\n"

// exchange_LEVEL(in: rdi, out: rsi)
#define EXCHANGE(level, load, save)                                                                                   \
    __asm__(".globl exchange_" #level ", held_" #level "\n.type exchange_" #level ", @function\nexchange_" #level ":\n"  \
            "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"                                         \
            "mov %rsi, %r15\nldmxcsr 2240(%rdi)\nfninit\n" LOAD_ST(7) LOAD_ST(6) LOAD_ST(5) LOAD_ST(4) LOAD_ST(3)         \
            LOAD_ST(2) LOAD_ST(1) LOAD_ST(0) load GENERAL(LOAD_R)                                                        \
            ".type held_" #level ", @function\nheld_" #level ":\nnop\n"                                                  \
            GENERAL(SAVE_R) save EACH8(SAVE_ST) "stmxcsr 2240(%r15)\n"                                                   \
            "fninit\ncld\nmovl $0x1f80, -8(%rsp)\nldmxcsr -8(%rsp)\n"                                                    \
            "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n");                                        \
    void exchange_##level(struct state *, struct state *);

EXCHANGE(512, EACH32(LOAD_ZMM) EACH8(LOAD_K), EACH32(SAVE_ZMM) EACH8(SAVE_K))
EXCHANGE(256, EACH16(LOAD_YMM), EACH16(SAVE_YMM))
EXCHANGE(128, EACH16(LOAD_XMM), EACH16(SAVE_XMM))

int main(int argc, char **argv) {
    int level = argc > 1 ? atoi(argv[1]) : 128, phase = argc > 2 ? atoi(argv[2]) : 0, wrong = 0;
    static struct state want;
    fill(&in, 0);
    (level == 512 ? exchange_512 : level == 256 ? exchange_256 : exchange_128)(&in, &out);
    fill(&want, phase);
    for (int reg = 0; reg < (level == 512 ? 32 : 16); reg++)
        if (memcmp(out.vector[reg], want.vector[reg], (size_t)level / 8)) wrong = printf("vector %d\n", reg);
    for (int reg = 0; reg < 8; reg++) {
        if (level == 512 && memcmp(out.mask[reg], want.mask[reg], 8)) wrong = printf("mask %d\n", reg);
        if (memcmp(out.stack[reg], want.stack[reg], 10)) wrong = printf("stack %d\n", reg);
    }
    for (int reg = 0; reg < 12; reg++)
        if (memcmp(out.general[reg], want.general[reg], 8)) wrong = printf("general %d\n", reg);
    if (out.mxcsr != want.mxcsr) wrong = printf("mxcsr %x\n", out.mxcsr);
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong != 0;
}
