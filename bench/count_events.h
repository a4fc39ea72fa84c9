/* bench/count_events.h - a file of events with duplicates among them, and what counting it should
 * give.
 *
 * A line is an id like a UUID, a tab, a key, a tab, a delta from 1 to 9: all lines are of one
 * length, which those that read it in this program make use of. One in ten repeats a line from
 * anywhere before it. Keys follow Zipf's law with exponent 1 over a million. A shorter file of
 * the same seed is the beginning of a longer one. */
#ifndef LETHE_BENCH_COUNT_EVENTS_H
#define LETHE_BENCH_COUNT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "count_lines.h"
#include "count_process.h"

enum { COUNT_BATCH = 65536 /* events to a commit */ };

struct count_events {
    char path[COUNT_PATH_BYTES / 2];
    char json_path[COUNT_PATH_BYTES / 2];  /* the same, as lines of JSON; "" until it is made */
    char truth_path[COUNT_PATH_BYTES / 2]; /* each key and its sum, as `lethe list` prints them */
    uint64_t count;
    uint64_t originals; /* of them: the others are duplicates */
    int64_t sum;        /* of the deltas of the originals */
};

/* Writes the files to a folder. */
void count_events_make(struct count_events *events, const char *folder, uint64_t count,
                       uint64_t seed);
/* Writes the same events as objects with the members id, key and delta, one per line. */
void count_events_make_json(struct count_events *events, const char *folder);
void count_events_drop(const struct count_events *events);

/* The whole file in memory, read already; the caller never gives it back. */
const char *count_events_map(const struct count_events *events);

/* The file in batches of COUNT_BATCH, the last one smaller. */
struct count_batches {
    FILE *file;
    char *lines;
    size_t count;
};

void count_batches_open(struct count_batches *batches, const struct count_events *events);
/* Reads the next one; false at the end. */
bool count_batches_next(struct count_batches *batches);
void count_batches_close(struct count_batches *batches);

/* The parts of a line. */
static inline const char *count_id(const char *lines, uint64_t index) {
    return lines + index * COUNT_LINE_BYTES;
}

static inline const char *count_key(const char *lines, uint64_t index) {
    return lines + index * COUNT_LINE_BYTES + COUNT_KEY_AT;
}

static inline int64_t count_delta(const char *lines, uint64_t index) {
    return lines[index * COUNT_LINE_BYTES + COUNT_DELTA_AT] - '0';
}

#endif
