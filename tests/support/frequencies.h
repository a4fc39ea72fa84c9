/* tests/support/frequencies.h - streams of items whose frequencies follow a law, and what they
 * really are. */
#ifndef LETHE_TESTS_SUPPORT_FREQUENCIES_H
#define LETHE_TESTS_SUPPORT_FREQUENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frequencies {
    uint32_t *stream; /* the items, 0..items-1, in random order */
    size_t length;
    uint64_t *exact; /* how often each item is in the stream */
    uint32_t items;
};

/* Each item as likely as any other, or item i in proportion to 1/(i+1): Zipf's law with exponent
 * 1. */
void frequencies_make(struct frequencies *out, uint32_t items, size_t length, bool zipf,
                      uint64_t seed);
void frequencies_free(struct frequencies *frequencies);

#endif
