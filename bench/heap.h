/* bench/heap.h - an allocator that counts: what is allocated now, and the most it ever was.
 *
 * Every subject of a comparison takes its memory from one of these, so that all are counted alike
 * and no peak between two looks is missed. Thread-safe. */
#ifndef LETHE_BENCH_HEAP_H
#define LETHE_BENCH_HEAP_H

#include <stdatomic.h>

#include <lethe/allocator.h>

struct heap {
    lethe_allocator allocator; /* to be given to the subject */
    atomic_size_t live_bytes;
    atomic_size_t peak_bytes; /* since heap_init or heap_reset_peak */
};

/* The heap must stay where it is while something is allocated from it. */
void heap_init(struct heap *heap);
/* The peak begins again from what is allocated now. */
void heap_reset_peak(struct heap *heap);

#endif
