/* freq/feed.h - the lines of all inputs, added to a sketch in several threads.
 *
 * Guarantee  The sketch has the same bytes for any number of threads, and however the input
 *            arrives. The total is exact. Of a kind that never under-estimates, no estimate is
 *            below the truth.
 * Memory     8 MiB of tables, and for each thread a block of text and a digest. */
#ifndef LETHE_CLI_FREQ_FEED_H
#define LETHE_CLI_FREQ_FEED_H

#include "input/keys.h"
#include "lethe/sketch.h"

enum { FEED_MOST_THREADS = 256 };

/* Adds all lines to a sketch that no other thread uses, and shows progress if `shows`. threads is
 * at most FEED_MOST_THREADS, beside the one that reads; 0 means 1, and of more than there are
 * tables the rest is not used. Returns EXIT_DONE, also when a signal asked to stop; or another code
 * after saying why, and then the sketch has some of the lines. */
int feed_all(const struct inputs *inputs, const struct key_fields *fields, bool shows,
             unsigned threads, lethe_sketch *sketch);

#endif
