/* Uses its terminal in different ways, and calls `beat` repeatedly meanwhile.
   beats N     N times, with a tenth of a second between. With a further argument it prints when it begins and ends.
   reads       until a line can be read.
   hot         calls `hot` many times without a pause, and `never` never.
   raw         switches line editing and echo off, prints that, and prints when it is about to switch them on.
   execs N     executes itself N times, each time after ten beats, which take half a second. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long rounds;

__attribute__((noinline)) void beat(void) {
    rounds++;
}

__attribute__((noinline)) void hot(void) {
    rounds++;
}

__attribute__((noinline)) void never(void) {
    rounds--;
}

static void beats(int count, long milliseconds) {
    struct timespec pause = {0, milliseconds * 1000000};
    while (count-- > 0) {
        beat();
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 1;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    struct termios lines, raw;
    char line[64];
    if (strcmp(way, "beats") == 0) {
        if (argc > 3)
            dprintf(1, "<begin>");
        beats(count * 10, 10);
        if (argc > 3)
            dprintf(1, "<end>");
    }
    if (strcmp(way, "reads") == 0) {
        while (poll(&input, 1, 10) == 0)
            beat();
        if (read(0, line, sizeof line) < 0)
            return 1;
    }
    if (strcmp(way, "hot") == 0)
        for (int i = 0; i < 50000; i++)
            hot();
    if (strcmp(way, "cold") == 0)
        never();
    if (strcmp(way, "raw") == 0) {
        tcgetattr(0, &lines);
        raw = lines;
        cfmakeraw(&raw);
        tcsetattr(0, TCSANOW, &raw);
        beats(30, 10);
        dprintf(1, "<taken>");
        beats(60, 10);
        dprintf(1, "<given back>");
        tcsetattr(0, TCSANOW, &lines);
        beats(60, 10);
    }
    if (strcmp(way, "execs") == 0) {
        beats(10, 50);
        if (count > 0) {
            snprintf(line, sizeof line, "%d", count - 1);
            execl(argv[0], argv[0], way, line, (char *)NULL);
            return 1;
        }
    }
    return 0;
}
