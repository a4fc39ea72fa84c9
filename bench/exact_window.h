/* bench/exact_window.h - the peer: what one would write by hand to know the ids of the last W.
 *
 * Guarantee  Exact: no false duplicate, none missed. An id is forgotten between W and 1.25 W.
 * Memory     Five hash sets of 64-bit ids, each for a quarter of W, at most 70% full, a power of
 *            two in size. They don't grow: the number of ids must be known.
 * Time       As for lethe/window.h, but it must not go back. */
#ifndef LETHE_BENCH_EXACT_WINDOW_H
#define LETHE_BENCH_EXACT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lethe/allocator.h>

typedef struct exact_window exact_window;

/* For that many ids in W. NULL when there is no memory; the caller frees it. */
exact_window *exact_window_new(uint64_t window_ms, uint64_t ids, const lethe_allocator *allocator);
void exact_window_free(exact_window *window);

/* Whether the id came within the last W; if not, remembers it. Ends the program when there are
 * more ids than were announced. */
bool exact_window_check_and_record(exact_window *window, uint64_t id, uint64_t now_ms);

/* The same for count ids in order, with the cache misses overlapped. */
void exact_window_check_and_record_batch(exact_window *window, const uint64_t *ids, size_t count,
                                         uint64_t now_ms, uint8_t *is_duplicate);

#endif
