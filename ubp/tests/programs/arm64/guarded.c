// A program and a library whose pages the loader guards, where the processor can; neither has start files, which lack landing pads.
// Calls a function of each at its landing pad, and once behind it, and tells what came of that.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#ifdef LIBRARY
#define NAME "library"
#else
#define NAME "own"
#endif

// bti c; add w0, w0, #1; mul w0, w0, w0; ret
__asm__(".text\n.p2align 2\n.global " NAME "\n.type " NAME ", %function\n"
        NAME ": hint #34\nadd w0, w0, #1\nmul w0, w0, w0\nret\n.size " NAME ", . - " NAME "\n");

#ifndef LIBRARY
int own(int), library(int);

static volatile int caught;

static void on_ill(int signal, siginfo_t *info, void *context) {
    mcontext_t *at = &((ucontext_t *)context)->uc_mcontext;
    (void)signal, (void)info;
    caught++;
    at->regs[0] = -1;
    at->pc = at->regs[30];
    at->pstate &= ~(3ul << 10);
}

__attribute__((noinline)) static int call(int (*function)(int), int argument) { return function(argument); }

__attribute__((used)) static void begin(void) {
    struct sigaction action = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
    int (*volatile functions[])(int) = {own, library};
    for (int number = 0; number < 2; number++) {
        int sum = 0;
        for (int i = 0; i < 3; i++) sum += call(functions[number], i);
        int behind = call((int (*)(int))((char *)functions[number] + 4), 5);
        printf("%d behind %d caught %d\n", sum, behind, caught);
    }
    exit(0);
}

__asm__(".text\n.p2align 2\n.global _start\n_start: hint #34\nmov x29, xzr\nmov x30, xzr\nb begin\n");
#endif
