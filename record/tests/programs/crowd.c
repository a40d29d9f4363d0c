// Eight threads that wait, and end together with the program.
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t all;

static void *wait(void *nothing) {
    pthread_barrier_wait(&all);
    for (;;) pause();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&all, NULL, 9);
    for (int i = 0; i < 8; i++) pthread_create(&thread, NULL, wait, NULL);
    pthread_barrier_wait(&all);
    return 7;
}
