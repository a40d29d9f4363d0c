/* Loads the library named by its argument twice, calls its functions, and unloads it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(argv[argc - 1], RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*plugged)(int) = (int (*)(int))dlsym(library, "plugged");
        for (int i = 0; i < 4; i++)
            sum += plugged(i);
        dlclose(library);
    }
    printf("%d\n", sum);
    return 0;
}
