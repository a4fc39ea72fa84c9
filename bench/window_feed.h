/* bench/window_feed.h - a window of any kind, the operations that pass through it, and the ways
 * to feed them to it. */
#ifndef LETHE_BENCH_WINDOW_FEED_H
#define LETHE_BENCH_WINDOW_FEED_H

#include <lethe/lethe.h>

#include "exact_window.h"
#include "heap.h"
#include "retries.h"

enum { FEED_STREAMS = 2 };

/* One of window, paper and exact is not NULL. */
struct subject {
    lethe_window *window;
    lethe_forgetful *paper;
    exact_window *exact;

    uint64_t hash_seed;
    /* Of the operations that the first stream has ready: see feed_hash. */
    lethe_hash *hashes;
    uint64_t n;
    double error;

    struct heap heap;
    /* Before the heap's peak was last reset. */
    size_t peak_bytes;

    struct retries streams[FEED_STREAMS];
    int stream_count;

    /* Every call succeeded. */
    bool ok;
};

/* Feeds a subject the operations that its streams have ready, and stores the answers. */
typedef void feed(struct subject *subject);

/* The window: one operation per call; each id announced 16 ids before; in batches, taking turns
 * where there are two streams; two streams by two threads. */
feed feed_single, feed_announced, feed_batches, feed_by_two_threads;
/* The window in batches, with the hashes that feed_hash computed before. */
feed feed_hash, feed_hashed;
/* The window: records the operations whatever they are, as from a log; what would have been
 * answered is not known. */
feed feed_records;
/* The paper's filter, and the exact set. */
feed feed_paper_single, feed_paper_batches, feed_exact_single, feed_exact_batches;

#endif
