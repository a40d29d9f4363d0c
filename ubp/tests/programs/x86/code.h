// Machine code for code.c.

// lea 5(%rdi), %eax; ret
static const unsigned char add5[] = {0x8d, 0x47, 0x05, 0xc3};
static const unsigned char add9[] = {0x8d, 0x47, 0x09, 0xc3};
static const unsigned char nop[] = {0x90};
static const unsigned char ret[] = {0xc3};
// mov %edi, %eax; inc %rax; imul %edi, %eax; xor %eax, %eax; nop
static const unsigned char kinds[5][4] = {{0x89, 0xf8}, {0x48, 0xff, 0xc0}, {0x0f, 0xaf, 0xc7}, {0x31, 0xc0}, {0x0f, 0x1f, 0x00}};
static const int lengths[5] = {2, 3, 3, 2, 3};
