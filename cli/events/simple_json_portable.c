/* simple_json_portable.c - takes simple lines of JSON, eight bytes at a time in a word, on any
 * CPU. */
#include "events/simple.h"
#include "events/word.h"

/* A bit for each of 64 bytes: whether it is a quote, a backslash or a control character; and in
 * *high, whether it is not ASCII. */
static inline uint64_t find_stops(const char *at, uint64_t *high) {
    uint64_t stops = 0;
    *high = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t word = word_load(at + 8 * (size_t)i);
        uint64_t found = word_find(word, '"') | word_find(word, '\\') |
                         word_zeros(word & REPEATED(0xe0)); /* below 0x20 */
        stops |= word_gather(found) << 8 * i;
        *high |= word_gather(word & REPEATED(0x80)) << 8 * i;
    }
    return stops;
}

#define SIMPLE_JSON simple_json_portable
#include "events/simple_json.inc.h"
