// A program with static probes (USDT), whose notes are written here: <sys/sdt.h> need not be installed.
//
// probes [TEXT [ROUNDS]]: without ROUNDS it reads lines of the standard input, and makes a round for each, or for "fork" in a child.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
#define ADDRESS ".8byte "
#define POINTER "8@"
#else
#define ADDRESS ".4byte "
#define POINTER "4@"
#endif

// A note of the owner "stapsdt" and of type 3: three addresses and three texts.
#define PROBE(name, semaphore, arguments, ...)                                                                          \
    __asm__ volatile("990: nop\n"                                                                                       \
                     ".pushsection .note.stapsdt, \"\", %%note\n"                                                       \
                     ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                                      \
                     "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                        \
                     "993: " ADDRESS "990b\n" ADDRESS "_.stapsdt.base\n" ADDRESS semaphore "\n"                         \
                     ".asciz \"demo\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n994: .balign 4\n.popsection\n"    \
                     ".ifndef _.stapsdt.base\n"                                                                         \
                     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                            \
                     ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                                   \
                     "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n" ::__VA_ARGS__)

__attribute__((section(".probes"), used)) static volatile unsigned short asked_semaphore;
static volatile double fraction = 2.5;

static void round_of(const char *text, int number) {
    // In arm64 code no symbol of the file tells where a static variable lies.
#ifndef __aarch64__
    static
#endif
        volatile short small = -2;
    PROBE("begin", "0", POINTER "%0 -4@%1 -4@%2", "nor"(text), "nor"(number), "n"(-7));
    if (asked_semaphore) {
        printf("asked %d\n", asked_semaphore);
        PROBE("asked", "asked_semaphore", "-4@%0 -2@%1", "nor"(number * 10), "m"(small));
    }
    double value = fraction + number;
    PROBE("end", "0", "8f@%0 4@%1", "m"(value), "nor"(number));
}

// For a program that loads this one as a library.
int plugged(int number) {
    round_of("plugged", number);
    return number;
}

int main(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : "text";
    setvbuf(stdout, 0, _IOLBF, 0);
    if (argc > 2) {
        for (int number = 0; number < atoi(argv[2]); number++)
            round_of(text, number);
        return 0;
    }
    char line[64];
    for (int number = 0; fgets(line, sizeof line, stdin); number++) {
        if (!strcmp(line, "fork\n")) {
            if (fork() == 0) {
                round_of(text, number);
                return 0;
            }
            wait(0);
            continue;
        }
        round_of(text, number);
        printf("round %d, semaphore %d\n", number, asked_semaphore);
    }
    return 0;
}
