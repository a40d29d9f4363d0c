/* The function of a large program that is looked for. */
__attribute__((noipa)) int wanted(int number) {
    return number + 1;
}

int main(void) {
    return wanted(1) - 2;
}
