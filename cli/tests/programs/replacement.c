/* A library in several builds: with PAD and with SWAP its functions lie elsewhere, with another VALUE one of them differs in a constant. */
#ifndef VALUE
#define VALUE 1
#endif

#ifdef __aarch64__
#define JUMP "b"
#else
#define JUMP "jmp"
#endif

static volatile int sink;

#ifdef PAD
__attribute__((noinline)) int padding(int n) {
    sink += n * 3;
    sink ^= 0x1234;
    return sink;
}
#endif

#ifndef SWAP
__attribute__((noinline)) int plugged(int n) {
    sink += 2;
    return n;
}
#endif

/* The function contains four bytes that are never executed. */
__attribute__((noinline)) int other(int n) {
    __asm__ volatile(JUMP " 1f; .long 0x5a5a5a5a; 1:");
    return n + VALUE;
}

#ifdef SWAP
__attribute__((noinline)) int plugged(int n) {
    sink += 2;
    return n;
}
#endif
