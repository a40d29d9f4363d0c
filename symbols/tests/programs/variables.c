/* What is in scope at the marked lines, and what it is there, is what the test says. */
#include <stdlib.h>

#define ALONE __attribute__((noinline, noclone))

struct point {
    int x, y;
    unsigned low : 3, high : 5;
};

struct item {
    const char *name;
    struct point at;
    struct item *next;
};

volatile int sink;

ALONE int blocks(int x, struct point given)
{
    static int calls = 10;
    int sum = x;
    calls += 1;
    {
        int x = 2;
        double ratio = 1.5;
        sum += x;
        {
            char x = 'c';
            sum += x; /* inner */
        }
        sum += (int)ratio; /* middle */
    }
    for (int i = 0; i < 1; i++) {
        struct point p = { i, sum, 1, 2 };
        sum += p.x; /* loop */
    }
    int last = sum + given.y;
    sink = last; /* outer */
    return last;
}

ALONE long deep(long value)
{
    sink = (int)value;
    return value + 1;
}

ALONE long deepest(long value)
{
    sink = (int)value; /* deepest */
    return value + 1;
}

/* The function uses registers that it has to keep for its caller: all of them where it calls the last time. */
ALONE long leaf(long a, long b, long c, long d, long e)
{
    long first = deep(a);
    long second = deep(b) + first * c;
    long third = deepest(d) - second * e;
    return first ^ second ^ third ^ a ^ b ^ c ^ d ^ e;
}

ALONE long keeps(long a, long b)
{
    long kept = a * b + 1, other = a - b;
    long unused = kept;
    long result = leaf(a, 2, 3, 4, 5);
    return result + kept * other; /* keeps */
}

ALONE long bottom(long value)
{
    sink = (int)value;
    return value; /* bottom */
}

#ifdef __x86_64__
ALONE long ended(long value)
{
    sink = (int)value;
    return value; /* ended */
}

/* Unwind information does not describe this function, and it does not keep rbx for its caller. */
__asm__(".text\n.globl undescribed\n.type undescribed, @function\n"
        "undescribed: push %rbp\nmov %rsp, %rbp\nmov $99, %ebx\nmov $7, %edi\ncall ended\npop %rbp\nret\n"
        ".size undescribed, . - undescribed\n");
long undescribed(long);

ALONE long behind(long a)
{
    long kept = a * 3;
    long array[2] = { a, a + 1 };
    sink = (int)array[a & 1];
    return undescribed(a) + kept;
}
#endif

ALONE int list(struct item *first)
{
    int numbers[300];
    for (int i = 0; i < 300; i++)
        numbers[i] = i * i;
    int count = numbers[sink & 1 ? 1 : 2];
    sink = count + first->at.x; /* list */
    return count;
}

ALONE long recurse(int depth)
{
    long local = depth * 100L;
    long below = depth > 0 ? recurse(depth - 1) : bottom(depth);
    return below + local;
}

int main(int argc, char **argv)
{
    struct item second = { "second", { 3, 4, 5, 6 }, NULL };
    struct item first = { "first", { 1, 2, 7, 8 }, &second };
    struct point given = { 8, 9, 0, 0 };
    (void)argv;
    long all = blocks(argc, given) + keeps(6, 7) + list(&first) + recurse(2);
#ifdef __x86_64__
    all += behind(5);
#endif
    sink = (int)all;
    return 0;
}
