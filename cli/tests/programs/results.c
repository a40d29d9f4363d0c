// Functions whose results the test chooses, and how many of their calls it wants.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum color { RED, GREEN, BLUE };

__attribute__((noipa)) int number(int n, const char *text) {
    return text[0] == 'a' ? -n : n;
}

__attribute__((noipa)) double half(int n) {
    return n / 2.0;
}

__attribute__((noipa)) const char *text(int n) {
    static const char *const texts[] = {"alpha", "beta", "gamma"};
    return n % 4 == 3 ? NULL : texts[n % 4];
}

__attribute__((noipa)) enum color color(int n) {
    return (enum color)(n % 3);
}

static int deep;

// Each call returns how deep it is, after the calls below it have returned.
__attribute__((noipa)) int nested(int depth) {
    if (depth < 5)
        nested(depth + 1);
    deep = depth;
    return deep;
}

__attribute__((noipa)) void nothing(int n) {
    deep += n;
}

int main(void) {
    for (int n = 0; n < 12; n++) {
        // The arguments of the next call lie where those of this one lay.
        number(n, n % 2 ? "alpha" : "beta");
        half(n);
        text(n);
        color(n);
        nothing(n);
    }
    nested(0);
    printf("%d\n", deep);
    return 4;
}
