// Copies 64 bytes, which is all that is asked for.
#define COPY(to, from, n)                                                                                          \
    __asm__ volatile("ld1 {v0.16b-v3.16b}, [%1], #64\n\tst1 {v0.16b-v3.16b}, [%0], #64\n\tsub %2, %2, #64"         \
                     : "+r"(to), "+r"(from), "+r"(n)::"v0", "v1", "v2", "v3", "memory")
