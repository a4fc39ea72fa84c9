/* escape.c - writes and reads escaped fields. */
#include "say/escape.h"

#include <stdint.h>
#include <string.h>

static const char hexadecimal[] = "0123456789abcdef";

size_t escape_write(lethe_bytes field, char *out) {
    const unsigned char *from = field.data;
    char *to = out;
    for (size_t i = 0; i < field.size; i++) {
        unsigned char byte = from[i];
        if (byte >= 0x20 && byte != 0x7f && byte != '\\') {
            *to++ = (char)byte;
            continue;
        }
        *to++ = '\\';
        switch (byte) {
        case '\t':
            *to++ = 't';
            break;
        case '\n':
            *to++ = 'n';
            break;
        case '\r':
            *to++ = 'r';
            break;
        case '\0':
            *to++ = '0';
            break;
        case '\\':
            *to++ = '\\';
            break;
        default:
            *to++ = 'x';
            *to++ = hexadecimal[byte >> 4];
            *to++ = hexadecimal[byte & 15];
        }
    }
    return (size_t)(to - out);
}

/* The value of a hexadecimal digit, or 16. */
static unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

/* Reads what follows a backslash. Returns how many bytes that takes, 0 if it is no escape. */
static size_t read_one(const char *from, size_t size, char *out) {
    static const char letters[] = "tnr0\\";
    static const char bytes[] = "\t\n\r\0\\";
    if (size == 0) return 0;
    const char *letter = memchr(letters, from[0], sizeof letters - 1);
    if (letter != NULL) {
        *out = bytes[letter - letters];
        return 1;
    }
    if (from[0] != 'x' || size < 3) return 0;
    unsigned high = digit_value(from[1]), low = digit_value(from[2]);
    if (high > 15 || low > 15) return 0;
    *out = (char)(unsigned char)(high << 4 | low);
    return 3;
}

bool escape_read(lethe_bytes field, char *out, size_t *out_size, size_t *at) {
    const char *from = field.data;
    size_t length = 0;
    size_t i = 0;
    while (i < field.size) {
        if (from[i] != '\\') {
            out[length++] = from[i++];
            continue;
        }
        size_t taken = read_one(from + i + 1, field.size - i - 1, &out[length]);
        if (taken == 0) {
            *at = i;
            return false;
        }
        length++;
        i += 1 + taken;
    }
    *out_size = length;
    return true;
}
