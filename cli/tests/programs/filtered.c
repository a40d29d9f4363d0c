// Calls one function from two threads, of which one is named, and prints for how many calls each condition held.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct place {
    short x, y;
};

struct item {
    int kind;
    unsigned weight;
    struct place place;
    const char *label;
    struct item *next;
    union {
        unsigned char low;
        int all;
    };
    unsigned bits : 3;
    float share;
};

struct pair {
    int left, right;
};

enum color { RED, GREEN, BLUE };

int level;
static int is_worker;

#define CONDITIONS(is) \
    is(negative, n < 0) \
    is(large, size > 4000000000u) \
    is(either, n == 3 || (n == 5 && size != 0)) \
    is(not, !(n == 3 || size > 100)) \
    is(named, strcmp(name, "beta") == 0) \
    is(like, name[0] == 'a') \
    is(all_bits, (flags & 0x41) == 0x41) \
    is(some_bits, flags & 0x6) \
    is(global, level > 2) \
    is(memory, item->weight == 7) \
    is(behind, item->place.y == -3) \
    is(next, item->next->weight > 4) \
    is(label, strcmp(item->label, "beta") == 0) \
    is(unnamed, item->low == 9) \
    is(sum, (long)n + size == 9) \
    is(odd, n % 2 == 1) \
    is(color, color == BLUE) \
    is(member, pair.right == 4) \
    is(fraction, ratio > 2.5) \
    is(worker, is_worker) \
    is(mixed, n > 0 && is_worker) \
    is(call, 1)

#define DECLARE(label, condition) static int label##_count;
CONDITIONS(DECLARE)

__attribute__((noipa)) int work(int n, unsigned size, const char *name, struct item *item, enum color color, unsigned char flags,
                                struct pair pair, double ratio)
{
    return n + (int)size + item->kind + (int)color + flags + pair.left + (int)ratio + name[0];
}

static void call(int n, unsigned size, const char *name, struct item *item, enum color color, unsigned char flags, struct pair pair,
                 double ratio)
{
    level = n / 2;
#define COUNT(label, condition) label##_count += (condition) ? 1 : 0;
    CONDITIONS(COUNT)
    work(n, size, name, item, color, flags, pair, ratio);
}

static void *run(void *name)
{
    static const char *names[] = {"alpha", "beta", "betamax", "a name that is longer than the sixty-four bytes that ntrace shows of a text"};
    if (name)
        pthread_setname_np(pthread_self(), name);
    is_worker = name != NULL;
    for (int i = -4; i < 12; i++) {
        struct item next = {0, (unsigned)(i + 5)};
        struct item item = {i, (unsigned)(i + 10) % 9, {7, (short)(i - 6)}, names[(i + 5) % 4], &next, {.all = i}, 5, 0.5f};
        struct pair pair = {i, i % 5};
        call(i, i == 2 ? 4100000000u : (unsigned)(9 - i), names[(i + 4) % 4], &item, (i + 4) % 3, (unsigned char)(i * 13), pair, i / 2.0);
    }
    return NULL;
}

int main(void)
{
    pthread_t worker;
    run(NULL);
    pthread_create(&worker, NULL, run, "worker");
    pthread_join(worker, NULL);
#define PRINT(label, condition) printf(#label " %d\n", label##_count);
    CONDITIONS(PRINT)
    return 3;
}
