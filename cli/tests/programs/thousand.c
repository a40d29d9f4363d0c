// Eight threads, each of which calls each of 1,024 functions once.
#include <pthread.h>
#include <stdio.h>

#define F(n) __attribute__((noinline)) void f_##n(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }
#define N(n) f_##n,
#define F4(m, n) m(n##0) m(n##1) m(n##2) m(n##3)
#define F16(m, n) F4(m, n##0) F4(m, n##1) F4(m, n##2) F4(m, n##3)
#define F64(m, n) F16(m, n##0) F16(m, n##1) F16(m, n##2) F16(m, n##3)
#define F256(m, n) F64(m, n##0) F64(m, n##1) F64(m, n##2) F64(m, n##3)
#define F1024(m) F256(m, 0) F256(m, 1) F256(m, 2) F256(m, 3)

static int calls;

F1024(F)
static void (*const all[])(void) = {F1024(N)};

static void *thread(void *unused) {
    for (int i = 0; i < 1024; i++)
        all[i]();
    return unused;
}

int main(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], 0);
    return calls == 8 * 1024 ? 0 : 1;
}
