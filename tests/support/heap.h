/* tests/support/heap.h - an allocator that counts, and that can fail on demand.
 *
 * The fail-the-n-th-allocation test of any structure is:
 *   for n = 0, 1, ...: a heap failing at n; make the object; it is either made or LETHE_ENOMEM;
 *   free it; nothing is live; stop when it was made. */
#ifndef LETHE_TESTS_SUPPORT_HEAP_H
#define LETHE_TESTS_SUPPORT_HEAP_H

#include <stddef.h>

#include "lethe/allocator.h"

/* The counts are atomic: a store allocates in threads of its own while a test looks. */
struct test_heap {
    lethe_allocator allocator;
    _Atomic size_t allocations; /* asked for so far */
    _Atomic size_t fail_at;     /* which of them fails, from 0; SIZE_MAX for none */
    _Atomic size_t live_blocks;
    _Atomic size_t live_bytes;
    _Atomic size_t peak_bytes;
};

/* Sets the heap up; it must not move afterwards, since its allocator points to it. */
void test_heap_init(struct test_heap *heap, size_t fail_at);

#endif
