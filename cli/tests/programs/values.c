/* Prints the arguments and the results of its functions as ntrace prints them: it says itself what they are. */
#include <stdio.h>

struct small { int a; float b; };
struct two { double d; long l; };
struct big { long v[4]; char name[8]; };
struct floats { float x, y, z; };
enum color { RED, GREEN = 5, BLUE };
enum flags { READ = 1, WRITE = 2, RUN = 4 };
struct bits { unsigned a : 3; int b : 5; };
typedef unsigned long size;

#define APART __attribute__((noipa))

static const char *color(enum color c) { return c == RED ? "RED" : c == GREEN ? "GREEN" : "BLUE"; }

APART struct two scalars(signed char c, short s, unsigned u, long long l, float f, double d, const char *t, enum color k) {
    struct two r = { d, (long)l };
    printf("scalars(c=%d, s=%d, u=%u, l=%lld, f=%.2f, d=%.2f, t=\"%s\", k=%s) = {d=%.2f, l=%ld}\n", c, s, u, l, f, d, t, color(k), r.d, r.l);
    return r;
}

APART struct big structures(struct small a, struct two b, struct big c, struct floats e, int x4, int x5, int x6, int x7, struct bits h) {
    printf("structures(a={a=%d, b=%.2f}, b={d=%.2f, l=%ld}, c={v=[%ld, %ld, %ld, %ld], name=\"%s\"}, e={x=%.2f, y=%.2f, z=%.2f}, "
           "x4=%d, x5=%d, x6=%d, x7=%d, h={a=%d, b=%d}) = {v=[%ld, %ld, %ld, %ld], name=\"%s\"}\n",
           a.a, a.b, b.d, b.l, c.v[0], c.v[1], c.v[2], c.v[3], c.name, e.x, e.y, e.z, x4, x5, x6, x7, h.a, h.b, c.v[0], c.v[1], c.v[2], c.v[3], c.name);
    return c;
}

APART double pointers(int *n, _Bool b, unsigned char u, char c, size z, enum flags g) {
    printf("pointers(n=%p, b=%s, u=%d, c='%c', z=%lu, g=READ | RUN) = %.2f\n", (void *)n, b ? "true" : "false", u, c, z, z + 0.25);
    return z + 0.25;
}

APART float many(float f0, float f1, float f2, float f3, float f4, float f5, float f6, float f7, float f8, double f9, long g) {
    printf("many(f0=%.2f, f1=%.2f, f2=%.2f, f3=%.2f, f4=%.2f, f5=%.2f, f6=%.2f, f7=%.2f, f8=%.2f, f9=%.2f, g=%ld) = %.2f\n", f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g, f8);
    return f8;
}

struct item { const char *name; int count; struct item *next; struct small in; };

APART struct item *behind(struct item *i, struct item *none, struct item *wild, struct small *flat, union { int n; float f; } *either) {
    printf("behind(i=%p -> {name=\"%s\", count=%d, next=%p, in={…}}, none=0x0, wild=%p, flat=%p -> {a=%d, b=%.2f}, either=%p -> {n=%d, f=%.1f}) = "
           "%p -> {name=\"%s\", count=%d, next=%p, in={…}}\n",
           (void *)i, i->name, i->count, (void *)i->next, (void *)wild, (void *)flat, flat->a, flat->b, (void *)either, either->n, either->f,
           (void *)i->next, i->next->name, i->next->count, (void *)i->next->next);
    return i->next;
}

APART void flat(struct small *s) { __asm__ volatile("" : : "r"(s) : "memory"); }

APART void nothing(void) { printf("nothing()\n"); }

int main(void) {
    int n = 3;
    struct big big = { { 1, -2, 3, 4 }, "nam" };
    scalars(-1, -2, 3, -4000000000LL, 1.25f, 2.25, "txt", GREEN);
    structures((struct small){ 1, 2.75f }, (struct two){ 3.75, -4 }, big, (struct floats){ 1.25f, 2.25f, 3.25f }, 4, 5, 6, 7, (struct bits){ 5, -3 });
    pointers(&n, 1, 200, 'x', 1UL << 40, READ | RUN);
    many(0.25f, 1.25f, 2.25f, 3.25f, 4.25f, 5.25f, 6.25f, 7.25f, 8.25f, 9.25, 10);
    struct item second = { "salt", -2, &second, { 1, 0 } }, first = { "sugar", 10, &second, { 2, 0 } };
    struct small flat_one = { -7, 4.25f };
    int either = 0x3fc00000;
    flat(&flat_one);
    behind(&first, 0, (struct item *)0x10000, &flat_one, (void *)&either);
    nothing();
    return 0;
}
