// Exceptions leave functions that have not returned. Ends with status 0 if all were caught.
#include <cstdio>

extern "C" {
__attribute__((noinline)) int thrower(int n) {
    if (n % 2 == 1)
        throw n;
    __asm__ volatile("");
    return n;
}

__attribute__((noinline)) int between(int n) {
    int left = thrower(n);
    __asm__ volatile("");
    return left + 1;
}

__attribute__((noinline)) int catcher(int n) {
    try {
        return between(n) - 1;
    } catch (int thrown) {
        return thrown;
    }
}

__attribute__((noinline)) int last(int n) {
    __asm__ volatile("");
    return n;
}
}

int main() {
    int sum = 0;
    for (int n = 0; n < 4; n++) {
        sum += catcher(n);
        sum += last(n);
    }
    return sum == 12 ? 0 : 1;
}
