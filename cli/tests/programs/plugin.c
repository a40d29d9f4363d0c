/* A library that is loaded late, with code that runs while it is loaded. */
static int calls;

__attribute__((noinline)) int plugged(int n) {
    __asm__ volatile("");
    return n + ++calls;
}

__attribute__((constructor)) static void at_load(void) {
    plugged(0);
}
