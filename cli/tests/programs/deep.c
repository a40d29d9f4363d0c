// Calls `leaf` from a depth of frames with four KiB each. Argument: the number of frames.
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int leaf(int value) {
    // Long enough for a jump.
    __asm__ volatile("nopw 0(%%rax,%%rax,1)\n nopw 0(%%rax,%%rax,1)" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) int descend(int depth) {
    volatile char frame[4096];
    memset((char *)frame, depth, sizeof frame);
    return depth > 0 ? descend(depth - 1) + frame[7] : leaf(frame[9]);
}

int main(int argc, char **argv) {
    return argc < 2 || descend(atoi(argv[1])) < 0;
}
