/* bench/count_lines.h - makes up lines of events, and remembers what counting them should give.
 *
 * What the lines are like: see count_events.h. What an original looks like follows from its number
 * alone, so that a duplicate of any of them can be written without remembering it. */
#ifndef LETHE_BENCH_COUNT_LINES_H
#define LETHE_BENCH_COUNT_LINES_H

#include <stdint.h>

#include "zipf.h"

enum {
    COUNT_ID_BYTES = 36,
    COUNT_KEY_BYTES = 12,
    COUNT_KEY_AT = COUNT_ID_BYTES + 1,
    COUNT_DELTA_AT = COUNT_KEY_AT + COUNT_KEY_BYTES + 1,
    COUNT_LINE_BYTES = COUNT_DELTA_AT + 2,
    COUNT_KEYS = 1000000
};

/* How many events repeat an earlier one, and which: one of the last `reach` originals, or any of
 * them if that is 0. */
struct count_repeats {
    unsigned in_ten;
    uint64_t reach;
};

struct count_maker {
    uint64_t seed, random;
    struct zipf zipf;
    int64_t *sums;      /* by key */
    uint32_t *prepared; /* keys and deltas of originals, by their number; NULL: none are */
    uint64_t originals;
    int64_t sum;           /* of the deltas of the originals */
    char digits[10000][4]; /* of each number below 10,000 */
};

/* Ends the program when there is no memory. */
void count_maker_open(struct count_maker *maker, uint64_t seed);
/* Draws keys and deltas of so many events ahead, but of 2^24 at most: after that many originals
 * they repeat. Sums are added up by count_maker_finish then. */
void count_maker_prepare(struct count_maker *maker, uint64_t events);
/* Writes COUNT_LINE_BYTES. */
void count_maker_put(struct count_maker *maker, struct count_repeats repeats, char *to);
/* No more lines are made: sum and sums are what they should be. */
void count_maker_finish(struct count_maker *maker);
/* Writes each key that has a sum, and its sum, as `lethe list` prints them. */
void count_maker_write_truth(const struct count_maker *maker, const char *path);
void count_maker_close(struct count_maker *maker);

#endif
