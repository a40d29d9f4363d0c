/* A function that the compiler puts into two others, and that nobody calls. */
static volatile int sink;

static inline __attribute__((always_inline)) int doubled(int value)
{
    sink = value;
    return value * 2;
}

__attribute__((noinline)) int first(int value)
{
    sink = 1;
    return doubled(value) + 1;
}

__attribute__((noinline)) int second(int value)
{
    sink = 2;
    return doubled(value + 3);
}

int main(void)
{
    sink = first(1) + second(2);
    return 0;
}
