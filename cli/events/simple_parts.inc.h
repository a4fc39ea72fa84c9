/* simple_parts.inc.h - what every way to take simple lines needs: places of bytes, and numbers. */
#ifndef LETHE_CLI_EVENTS_SIMPLE_PARTS_INC_H
#define LETHE_CLI_EVENTS_SIMPLE_PARTS_INC_H

#include "events/record.h"

enum {
    /* Bytes that are looked at for one word of bits. */
    WORD_BYTES = 64,
    AT_ONCE = 4,
    /* More digits may overflow. */
    SAFE_DIGITS = 18
};

/* Lists the places of the bits of a word, which is at a place itself. May write AT_ONCE - 1 places
 * too many. */
EVENT_INLINE uint32_t *list_places(uint64_t stops, uint32_t place, uint32_t *to) {
    uint32_t *end = to + __builtin_popcountll(stops);
    while (to < end) {
        for (unsigned i = 0; i < AT_ONCE; i++) {
            to[i] = place + (uint32_t)__builtin_ctzll(stops | UINT64_C(1) << 63);
            stops &= stops - 1;
        }
        to += AT_ONCE;
    }
    return end;
}

/* Reads a whole number that is simple, too. */
EVENT_INLINE bool read_delta(const char *at, const char *end, int64_t *out) {
    bool is_negative = *at == '-'; /* there is a line end at least */
    at += is_negative;
    if ((size_t)(end - at) - 1 >= SAFE_DIGITS) return false;
    int64_t value = 0;
    do {
        unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit > 9) return false;
        value = value * 10 + (int64_t)digit;
    } while (++at < end);
    *out = is_negative ? -value : value;
    return true;
}

#endif
