// Conditions at a line with variables of the function and of a block.
#include <stdio.h>

struct point {
    int x, y;
};

struct pair {
    struct point first, second;
};

static volatile long sink;

int main(void) {
    long total = 0;
    for (int i = 0; i < 100; i++) {
        static int calls;
        struct point mine = {i, i % 4 + 1};
        struct point *at = &mine;
        struct pair both = {mine, {i, i % 4 + 1}};
        unsigned char small = i < 39 ? 5 : 200;
        const char *name = i % 2 ? "odd" : "even";
        calls++;
        sink = mine.x + at->y + small + name[0] + calls + both.second.x; // The line that has breakpoints.
        total += i;
    }
    printf("%ld\n", total);
    return 4;
}
