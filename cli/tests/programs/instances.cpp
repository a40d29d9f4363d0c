// Functions of which there are several of one name, and names with letters that mean something elsewhere. Nothing of the C++ library is
// used, so that it need not be linked.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNTED __attribute__((noinline))
static volatile int seen;

template <bool B> COUNTED int get() { return seen += B; }
template <class T> COUNTED int wide(T) { return ++seen; }
COUNTED int c16(char16_t c) { return seen += c; }
COUNTED int over(int n) { return seen += n; }
COUNTED int over(const char *text) { return seen += text[0]; }
COUNTED __attribute__((abi_tag("cxx11"))) int tagged(int n) { return seen += n; }

namespace {
COUNTED int hidden(int n) { return seen += n; }
}

void *operator new(size_t size) { return malloc(size); }

struct Box {
    COUNTED int operator[](int n) { return seen += n; }
    COUNTED void *operator new[](size_t size) { return ::operator new(size); }
    COUNTED bool operator!() const { return ++seen; }
    COUNTED bool operator!=(const Box &) const { return ++seen; }
    COUNTED Box *operator->() { return seen++, this; }
    COUNTED int operator*() { return ++seen; }
    COUNTED int operator<(int n) { return seen += n; }
    COUNTED explicit operator bool() const { return ++seen; }
    int member;
};

template <class T, class Other> struct Pair {
    T one;
    Other other;
};

template <class T> struct Holder {
    T held;
    COUNTED int put(const T &value) { held = value; return ++seen; }
};

struct First { virtual int first() { return 1; } long room; };
struct Second { virtual int second() { return 2; } };
struct Both : First, Second { COUNTED int second() override { return ++seen; } };

int main() {
    auto lambda = []() COUNTED { return ++seen; };
    Holder<Pair<int, Pair<int, char>>> holder;
    Pair<int, Pair<int, char>> pair{1, {2, '3'}};
    Box box;
    Second *second = new Both;
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += get<true>() + get<true>() + get<false>() + wide<__int128>(3) + wide<char16_t>(2) + c16(u'a');
        sum += over(i) + over("x") + tagged(i) + hidden(i) + lambda() + second->second();
        sum += box[i] + !box + (box != box) + (box->member = i) + *box + (box < i) + (box ? 1 : 0);
        sum += holder.put(pair);
        Box *boxes = new Box[2];
        sum += boxes != nullptr;
    }
    printf("%d\n", sum);
}
