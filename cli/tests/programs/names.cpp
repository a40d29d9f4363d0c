// Names that the linker writes otherwise than people do.
#include <cstdio>

namespace ns {
struct Type {
    __attribute__((noinline)) int add(int n);
    __attribute__((noinline)) int add(const char *text);
};
int Type::add(int n) {
    __asm__ volatile("");
    return n + 1;
}
int Type::add(const char *text) {
    __asm__ volatile("");
    return text[0];
}
}

int main() {
    ns::Type type;
    int sum = type.add("x");
    for (int i = 0; i < 3; i++)
        sum += type.add(i);
    std::printf("%d\n", sum);
}
