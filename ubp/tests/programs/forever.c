// Jumps to itself until the timer's signal kills it.
#include <unistd.h>

__attribute__((noinline)) void forever(void) {
    for (;;) __asm__ volatile("");
}

int main(void) {
    ualarm(20000, 0);
    forever();
}
