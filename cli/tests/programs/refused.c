/* Has an instruction that carries no breakpoint, and jumps over it. */
#ifdef __aarch64__
#define REFUSED "stxr w9, w10, [x11]"
#else
#define REFUSED "enclu"
#endif

__attribute__((noinline)) int around(int n) {
    if (n > 1)
        __asm__ volatile("refused: " REFUSED ::: "memory");
    return n + 1;
}

int main(int argc, char **argv) {
    (void)argv;
    return around(argc) == 2 ? 0 : 1;
}
