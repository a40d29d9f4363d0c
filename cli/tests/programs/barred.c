// A function whose second instruction enters the kernel.
long barred(void);

#if defined(__aarch64__)
#define CODE "mov x8, #172; svc #0; ret\n"
#else
#define CODE "mov $39, %eax; syscall; ret\n"
#endif

__asm__(".text\n"
        ".globl barred\n"
        ".type barred, @function\n"
        "barred: " CODE
        ".size barred, . - barred\n");

int main(void) { return barred() > 0 ? 7 : 0; }
