/* Calls a function that falls through the padding behind it into the next one as often as it has arguments. */
void first(void);

__asm__(".text\n"
        ".globl first, second\n"
        ".type first, %function\n"
        "first: nop\n"
        ".size first, . - first\n"
        "nop\n"
        "nop\n"
        ".type second, %function\n"
        "second: ret\n"
        ".size second, . - second\n");

int main(int argc, char **argv) {
    (void)argv;
    while (--argc)
        first();
    return 0;
}
