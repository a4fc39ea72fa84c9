/* simple_portable.c - takes simple lines, eight bytes at a time in a word, on any CPU. */
#include "events/simple.h"
#include "events/word.h"

/* A bit for each of 64 bytes: whether it is a newline, a delimiter or an escape. */
static inline uint64_t find_stops(const char *at, const struct simple_rule *rule) {
    uint64_t stops = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t word = word_load(at + 8 * (size_t)i);
        uint64_t found = word_find(word, '\n') | word_find(word, rule->delimiter) |
                         word_find(word, rule->escape);
        stops |= word_gather(found) << 8 * i;
    }
    return stops;
}

#define SIMPLE simple_portable
#include "events/simple.inc.h"
