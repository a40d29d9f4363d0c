/* Does what each line of its input asks for: "work 5" calls work 5 times, "nap 3" calls nap 3 times. Prints how often it has called either. Ends with
 * status 3. */
#include <stdio.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) void work(long i) {
    sink += i;
}

__attribute__((noinline)) void nap(long i) {
    sink += i;
    usleep(1000);
}

int main(void) {
    char what[8];
    long count, total = 0;
    while (scanf("%7s %ld", what, &count) == 2) {
        for (long i = 0; i < count; i++)
            if (what[0] == 'w')
                work(i);
            else
                nap(i);
        total += count;
        printf("%ld\n", total);
        fflush(stdout);
    }
    return 3;
}
