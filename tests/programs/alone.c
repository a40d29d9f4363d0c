// A library that has C++ programs begin no threads to help them: it does not know how many processors there are, which may be so.

unsigned hardware_concurrency(void) __asm__("_ZNSt6thread20hardware_concurrencyEv");

unsigned hardware_concurrency(void) {
    return 0;
}
