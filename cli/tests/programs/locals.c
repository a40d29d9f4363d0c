/* gdb says what the variables are at the marked lines. */
#include <stdbool.h>
#include <stdlib.h>

#define ALONE __attribute__((noipa))

enum color { RED, GREEN = 5, BLUE };

struct pair {
    int key;
    double weight;
};

union either {
    int number;
    float real;
};

volatile long sink;
volatile double level = 2.5;

ALONE long inmost(long value, const char *text)
{
    static int calls;
    calls++;
    sink = value + text[0]; /* inmost */
    return value + 1;
}

/* Many values live across calls: their registers have to be kept. */
ALONE long busy(long a, long b, long c, long d)
{
    long first = inmost(a, "busy");
    long second = inmost(first * b, "second");
    sink = first * a + second * b + c * first + d * second; /* busy */
    return first ^ second ^ a ^ b ^ c ^ d;
}

ALONE long caller(long a, long b)
{
    long product = a * b, difference = a - b;
    double half = a * level;
    long result = busy(product, difference, a, b);
    sink = (long)half; /* caller */
    return result + product - difference;
}

ALONE double numbers(float small, double large, bool yes, char letter, unsigned char byte)
{
    double sum = small + large;
    float product = small * level;
    enum color color = yes ? GREEN : BLUE;
    long long huge = -4000000000LL * byte;
    unsigned count = 0;
    for (int i = 0; i < 3; i++) {
        count += (unsigned)(i * letter);
        sink = count; /* loop */
    }
    sink = (long)sum + (long)product + color + huge; /* numbers */
    return sum * product + count;
}

ALONE int shadows(int x)
{
    int total = x;
    {
        int x = 2;
        {
            long x = 30;
            static long kept = 40;
            kept++;
            total += (int)(x * 2);
            sink = total; /* inner */
        }
        total += x;
        sink = total; /* middle */
    }
    sink = total + x; /* outer */
    return total;
}

ALONE int compound(struct pair given, struct pair *pointed)
{
    struct pair local = { given.key + 1, pointed->weight };
    union either either = { .number = 0x40200000 };
    int table[4] = { 1, given.key, 3, 4 };
    char letters[8] = "abc";
    const char *text = letters;
    void *nothing = NULL;
    sink = local.key + table[given.key & 3] + either.number + text[0] + (nothing == NULL); /* compound */
    return local.key + letters[1];
}

ALONE long recurse(int depth, long factor)
{
    long local = depth * factor;
    long below = depth > 0 ? recurse(depth - 1, factor + 1) : inmost(local, "bottom");
    sink = local; /* recurse */
    return below + local;
}

struct two {
    long kept, gone;
};

/* Behind the calls nobody has what the caller gave: the caller's code tells it. One member of the structure is nowhere. */
ALONE long handed(long a, long b)
{
    struct two two = { inmost(a, "handed"), sink };
    long more = inmost(two.kept, "more");
    sink = more; /* handed */
    return two.kept + more;
}

ALONE long handing(long a, long b)
{
    long twice = a * 2;
    long result = handed(twice, b);
    sink = result + twice; /* handing */
    return result + b;
}

ALONE long passing(long a)
{
    long result = handing(a, 3) + 1;
    sink = result; /* passing */
    return result;
}

/* It begins anew by a jump where the compiler makes one of the last call: nobody tells what that gave. */
ALONE long again(long left, long step)
{
    sink = inmost(left, "again"); /* again */
    if (left <= 0)
        return step;
    return again(left - step, step);
}

int main(void)
{
    struct pair pair = { 1, 0.25 };
    long all = caller(6, 7);
    all += (long)numbers(1.5F, 2.25, true, 'z', 200);
    all += shadows(9);
    all += compound(pair, &pair);
    all += passing(21);
    all += again(4, 2);
    all += recurse(3, 11);
    sink = all;
    return 0;
}
