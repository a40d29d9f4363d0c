/* Calls one function with pointers of which every second faults, and prints how many did. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf before;

static void on_fault(int number) {
    siglongjmp(before, number);
}

__attribute__((noinline)) int load(const volatile int *at) {
    return at[0] + at[1];
}

int main(void) {
    static const int values[2];
    volatile int faults = 0;
    signal(SIGSEGV, on_fault);
    for (volatile int i = 0; i < 10; i++) {
        if (sigsetjmp(before, 1) == 0)
            load(i % 2 ? 0 : values);
        else
            faults++;
    }
    printf("%d\n", faults);
    return 0;
}
