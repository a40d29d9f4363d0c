/* Three threads, one after the other, each with its own variables, which `reached` sees. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

_Thread_local int level = 7;
_Thread_local long aligned __attribute__((aligned(64))) = 3;
_Thread_local char text[24];
static volatile int sink;

__attribute__((noinline)) int reached(int number)
{
    static _Thread_local int calls;
    calls += number;
    sink = number;
    getppid();
    return calls; /* HERE */
}

static void *run(void *argument)
{
    int number = *(int *)argument;
    if (number != 1)
        level = number * 100;
    aligned += number;
    text[0] = (char)number;
    errno = number + 30;
    reached(number);
    reached(number);
    return 0;
}

int main(void)
{
    for (int number = 1; number <= 3; number++) {
        pthread_t thread;
        pthread_create(&thread, 0, run, &number);
        pthread_join(thread, 0);
    }
    return 0;
}
