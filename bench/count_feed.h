/* bench/count_feed.h - events that a process makes up and writes to a pipe, as fast as it can.
 *
 * For more events than one wants to have in a file: a billion have 52 GB. They are those of
 * count_events.h, but keys and deltas repeat after 16,777,216 originals. They come in stages,
 * which may differ in their duplicates. When a stage has been written, the process notes the
 * time, and the CPU time of whoever reads. A pipe has 1 MiB, or 20,000 events: the reader is
 * behind by that, and by what it has read and not yet counted, at the end of every stage alike.
 * What the generator costs is not counted, but it takes a CPU. */
#ifndef LETHE_BENCH_COUNT_FEED_H
#define LETHE_BENCH_COUNT_FEED_H

#include "count_events.h"

enum { COUNT_STAGES = 4 };

struct count_stage {
    uint64_t count; /* 0: there are no more stages */
    struct count_repeats repeats;
};

/* Since the reader was started. */
struct count_moment {
    double seconds, cpu_seconds;
};

/* What a generator is to make, and its end of what connects it with its parent. */
struct count_feed {
    struct count_stage stages[COUNT_STAGES];
    uint64_t seed;
    struct count_events events; /* without a path; those of all stages, once the reader has ended */
    struct count_moment ends[COUNT_STAGES]; /* of the stages, likewise */
};

/* Runs a program that reads all events from its standard input; its output goes nowhere. Writes
 * the truth to the folder. */
struct count_cost count_feed_run(struct count_feed *feed, const char *const *words,
                                 const char *folder);

#endif
