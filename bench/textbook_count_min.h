/* bench/textbook_count_min.h - Count-Min as a textbook has it, to measure against: a hash for
 * each row, a remainder, an increment. Compiled with -O2 whatever the rest is compiled with. */
#ifndef LETHE_BENCH_TEXTBOOK_COUNT_MIN_H
#define LETHE_BENCH_TEXTBOOK_COUNT_MIN_H

#include <stddef.h>
#include <stdint.h>

struct textbook {
    uint32_t *counters; /* depth rows of width */
    uint32_t width, depth;
};

void textbook_add(struct textbook *sketch, const void *key, size_t size);
uint32_t textbook_query(const struct textbook *sketch, const void *key, size_t size);

#endif
