/* scan.c - the parts of scanning JSON that are the same on every CPU: escapes, UTF-8, and the
 * choice of the way. */
#include "events/scan.h"

#include <string.h>

#include "events/format.h"
#include "lethe/version.h"

_Static_assert(SCAN_ESCAPED_NAME_BYTES >= 6 * EVENT_NAME_BYTES, "each byte may be \\u00xx");

scan_function *scan_choose(void) {
#if defined(__x86_64__)
    if (strcmp(lethe_cpu_path(), "scalar") != 0) return scan_avx2;
#endif
    return scan_portable;
}

/* What a letter after a backslash stands for; 0 if it is no such letter. */
static char meaning_of(char letter) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    return found != NULL ? meanings[found - letters] : '\0';
}

/* The number of four hexadecimal digits, or -1. Looks at nothing behind the first that is none. */
static int32_t read_unit(const char *at) {
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        char letter = (char)(at[i] | 0x20);
        if (at[i] >= '0' && at[i] <= '9') {
            unit = unit << 4 | (at[i] - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            unit = unit << 4 | (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return unit;
}

static bool is_first_half(int32_t unit) {
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_second_half(int32_t unit) {
    return unit >= 0xdc00 && unit <= 0xdfff;
}

const char *scan_escape(const char *at, struct scan_failure *failure) {
    int32_t unit;
    *failure = (struct scan_failure){.fault = SCAN_BAD_ESCAPE, .at = at};
    if (meaning_of(at[1]) != '\0') return at + 2;
    if (at[1] != 'u' || (unit = read_unit(at + 2)) < 0) return NULL;
    failure->fault = SCAN_HALF_SURROGATE;
    if (is_second_half(unit)) return NULL;
    if (!is_first_half(unit)) return at + 6;
    bool is_pair = at[6] == '\\' && at[7] == 'u' && is_second_half(read_unit(at + 8));
    return is_pair ? at + 12 : NULL;
}

/* Writes a code point as UTF-8; returns the place after it. */
static char *write_code(char *to, uint32_t code) {
    static const uint8_t firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = size - 1; i > 0; i--, code >>= 6) {
        to[i] = (char)(0x80 | (code & 0x3f));
    }
    to[0] = (char)(firsts[size] | code);
    return to + size;
}

size_t scan_unescape(lethe_bytes text, char *out) {
    const char *at = text.data, *end = at + text.size;
    char *to = out;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        if (at[1] != 'u') {
            *to++ = meaning_of(at[1]);
            at += 2;
            continue;
        }
        uint32_t code = (uint32_t)read_unit(at + 2);
        at += 6;
        if (is_first_half((int32_t)code)) {
            code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)read_unit(at + 2) - 0xdc00);
            at += 6;
        }
        to = write_code(to, code);
    }
    return (size_t)(to - out);
}

/* How many bytes the character at `at` takes; 0 if it is not UTF-8. What follows the string is a
 * quote, which is no part of a character. */
static size_t character_size(const unsigned char *at) {
    unsigned first = at[0], low = 0x80, high = 0xbf;
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    /* No character is written longer than it needs to be, none is a surrogate, none is beyond
     * U+10FFFF. */
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    if (at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    return size;
}

bool scan_utf8(const char *at, const char *end, struct scan_failure *failure) {
    while (at < end) {
        size_t size = character_size((const unsigned char *)at);
        if (size == 0) {
            *failure = (struct scan_failure){.fault = SCAN_NOT_UTF8, .at = at};
            return false;
        }
        at += size;
    }
    return true;
}
