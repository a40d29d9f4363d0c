/* Runs a program from a file in memory that has a name with a space. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    int from = open(argv[1], O_RDONLY);
    int memory = memfd_create("in memory", MFD_CLOEXEC);
    struct stat status;
    if (from < 0 || memory < 0 || fstat(from, &status))
        return 1;
    while (status.st_size > 0) {
        ssize_t sent = sendfile(memory, from, 0, status.st_size);
        if (sent <= 0)
            return 2;
        status.st_size -= sent;
    }
    char *environment[] = {0};
    fexecve(memory, argv + 1, environment);
    return 3;
}
