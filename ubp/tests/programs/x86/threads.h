// Copies bytes by an instruction that repeats itself.
#define COPY(to, from, n) __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory")
