/* The clones that GCC makes of a function: versions, a part, and the part that is seldom executed. */
#include <stdio.h>

#define COUNTED __attribute__((noinline))
static volatile int seen;

COUNTED int work(int n) { return seen += n; }
COUNTED int version(int n) __asm__("work.constprop.0");
COUNTED int version(int n) { return seen += n; }
COUNTED int smaller(int n) __asm__("work.isra.0");
COUNTED int smaller(int n) { return seen += n; }
COUNTED int part(int n) __asm__("work.part.0");
COUNTED int part(int n) { return seen += n; }
COUNTED int seldom(int n) __asm__("work.cold");
COUNTED int seldom(int n) { return seen += n; }
/* Not a clone of the function. */
COUNTED int other(int n) __asm__("work.other");
COUNTED int other(int n) { return seen += n; }

int main(void) {
    int sum = 0;
    for (int i = 0; i < 2; i++)
        sum += work(i) + version(i) + smaller(i) + part(i) + seldom(i) + other(i);
    printf("%d\n", sum);
}
