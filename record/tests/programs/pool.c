/* Three threads that meet at a lock. With an argument it executes itself anew. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *run(void *argument) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        sum += *(int *)argument;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1) return execl(arguments[0], arguments[0], NULL);
    pthread_t threads[3];
    int values[3] = {1, 10, 100};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, &values[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sum);
    return 0;
}
