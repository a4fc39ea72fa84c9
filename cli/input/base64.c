/* base64.c - see base64.h.
 *
 * I1      What is written is never ahead of what was read: so both may be in one place. */
#include "input/base64.h"

#include <stdint.h>

/* What a digit stands for; -1 for any other byte. */
static int value_of(char byte) {
    if (byte >= 'A' && byte <= 'Z') return byte - 'A';
    if (byte >= 'a' && byte <= 'z') return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9') return byte - '0' + 52;
    if (byte == '+') return 62;
    return byte == '/' ? 63 : -1;
}

bool base64_read(const char *text, size_t size, char *out, size_t *out_size) {
    size_t used = 0, count = size;
    uint32_t bits = 0;
    while (count > 0 && size - count < 2 && text[count - 1] == '=') {
        count--;
    }
    if (count < size && size % 4 != 0) return false; /* = fills four up, and nothing else */
    for (size_t i = 0; i < count; i++) {
        int value = value_of(text[i]);
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 0) out[used++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *out_size = used;
    /* Bits that belong to no byte are 0: otherwise the same bytes could be written in many ways. */
    uint32_t left = count % 4 == 2 ? bits & 15 : count % 4 == 3 ? bits & 3 : 0;
    return count % 4 != 1 && left == 0;
}
