// Calls a hundred functions, each of them once.
#define WORK(n) \
    __attribute__((noinline)) long work_##n(const char *text) { \
        __asm__ volatile("nop; nop; nop; nop; nop"); \
        return text[0] + n; \
    }
#define TEN(w, n) w(n##0) w(n##1) w(n##2) w(n##3) w(n##4) w(n##5) w(n##6) w(n##7) w(n##8) w(n##9)
#define ALL(w) TEN(w, 1) TEN(w, 2) TEN(w, 3) TEN(w, 4) TEN(w, 5) TEN(w, 6) TEN(w, 7) TEN(w, 8) TEN(w, 9) TEN(w, 10)

ALL(WORK)

#define CALL(n) sum += work_##n(text) - text[0] - n;

static const char text[64] = "text";

int main(void) {
    long sum = 0;
    ALL(CALL)
    return sum != 0;
}
