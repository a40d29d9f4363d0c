/* Reads letters from standard input, performs an action on the library named by its argument for each, and answers with a line:
   d loads it and prints the address of its function `plugged`; u unloads it; c calls `plugged` four times and `other` eight times;
   l loads another library; p changes a byte of its function `other` that is never executed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    void *library = NULL;
    int (*plugged)(int) = NULL, (*other)(int) = NULL;
    for (int order; (order = getchar()) != EOF;) {
        switch (order) {
        case 'd':
            library = dlopen(argv[argc - 1], RTLD_NOW);
            if (!library) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            plugged = (int (*)(int))dlsym(library, "plugged");
            other = (int (*)(int))dlsym(library, "other");
            printf("0x%lx\n", (unsigned long)plugged);
            break;
        case 'u':
            dlclose(library);
            puts("unloaded");
            break;
        case 'c': {
            int sum = 0;
            for (int i = 0; i < 4; i++)
                sum += plugged(i) + other(i) - other(i);
            printf("%d\n", sum);
            break;
        }
        case 'l':
            puts(dlopen("libm.so.6", RTLD_NOW) ? "loaded" : dlerror());
            break;
        case 'p': {
            void *page = (void *)((uintptr_t)other & ~(uintptr_t)0xfff);
            mprotect(page, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC);
            uint8_t *byte = (uint8_t *)other;
            while (memcmp(byte, "\x5a\x5a\x5a\x5a", 4))
                byte++;
            *byte = 0;
            puts("patched");
            break;
        }
        default:
            continue;
        }
        fflush(stdout);
    }
    return 0;
}
