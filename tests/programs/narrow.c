/*
 * Says where `leaf` is, then answers each number of standard input with the sum of that number of calls, all as 32-bit words. For
 * i386, without a library.
 */
enum { EXIT = 1, READ = 3, WRITE = 4 };

static int call(int number, int first, void *second, int third) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

__attribute__((noinline)) static unsigned leaf(unsigned number) {
    __asm__ volatile("" : "+r"(number));
    return number * 3 ^ 5;
}

void _start(void) {
    unsigned word = (unsigned)&leaf, sum;
    call(WRITE, 1, &word, sizeof word);
    while (call(READ, 0, &word, sizeof word) == sizeof word) {
        for (sum = 0; word; word--)
            sum += leaf(word);
        call(WRITE, 1, &sum, sizeof sum);
    }
    call(EXIT, 0, 0, 0);
}
