// A library to load and unload; its constructor is the first of its code to run.
#include <stdio.h>
static int ready;
__attribute__((noinline)) int plugged(int n) { return n + ready; }
__attribute__((constructor)) static void begin(void) { ready = plugged(40); }
int plugin(int n) { return plugged(n) + plugged(1); }
