// Maps a file as code, says so, and waits until its input ends.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct stat file;
	int descriptor = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	if (descriptor < 0 || fstat(descriptor, &file))
		return 1;
	if (mmap(0, file.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0) == MAP_FAILED)
		return 2;
	puts("mapped");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
