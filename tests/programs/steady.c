// A library for programs that go by chance of the machine: the time stands still, and nobody knows how many processors there are, so that
// C++ programs begin no threads to help them.
#include <time.h>

unsigned hardware_concurrency(void) __asm__("_ZNSt6thread20hardware_concurrencyEv");

unsigned hardware_concurrency(void) {
    return 0;
}

time_t time(time_t *seconds) {
    const time_t now = 1700000000;
    if (seconds) *seconds = now;
    return now;
}
