// With -DLIBRARY a library of one function, else a program that calls it through a stub of the linker.
int twice(int n);

#ifdef LIBRARY
int twice(int n) {
    return 2 * n; // INSIDE
}
#else
int main(void) {
    int sum = twice(3); // CALL
    sum += twice(4); // AGAIN
    return sum;
}
#endif
