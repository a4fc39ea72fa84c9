/* tests/support/cascade.h - small cascades whose tables become full soon, and keys that go where
 * a test wants them. */
#ifndef LETHE_TESTS_SUPPORT_CASCADE_H
#define LETHE_TESTS_SUPPORT_CASCADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/cascade.h"

/* Four ranges, tables of about a thousand keys; growth 2. */
extern const lethe_cascade_options test_cascade_options;
/* Has cascades that are opened from now on make tables of that size, and folders lie in memory
 * where that is possible. */
void test_cascade_tune(void);

/* Key number n: of the range n % 4, or of the given one. */
lethe_hash test_cascade_key(uint64_t n);
lethe_hash test_cascade_key_of(unsigned range, uint64_t n);
/* Inserts the keys [first, first + count), all of them. */
void test_cascade_insert(lethe_cascade *cascade, uint64_t first, size_t count);
/* Of the keys [0, end) all are there once, and of the next thousand none is. */
void test_cascade_assert_has(lethe_cascade *cascade, uint64_t end);
/* Works until there is nothing to do. */
void test_cascade_work(lethe_cascade *cascade);
/* A copy of a store's folder as it is now: what a kill at this moment would leave. */
void test_cascade_copy(const char *from, const char *to);
/* Flips a bit of a file. */
void test_cascade_flip(const char *path, uint64_t offset);

#endif
