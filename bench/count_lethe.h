/* bench/count_lethe.h - `lethe count` as a user runs it, and the engine under it alone. */
#ifndef LETHE_BENCH_COUNT_LETHE_H
#define LETHE_BENCH_COUNT_LETHE_H

#include <lethe/store.h>

#include "count_feed.h"
#include "count_peers.h"

/* `lethe count` with its defaults (an error of 1e-12); with --error 1e-6; with --exact; with
 * --forever; with --jsonl, from lines of JSON; with --per 1h; and with --sketch 16MiB. In addition
 * to what peers check, each counter is compared with its true value; of a sketch only the total is.
 * The program ends if a counter is too large, or if more counters are too small than the window's
 * error allows. */
count_peer count_by_lethe;
count_peer count_by_lighter_lethe;
count_peer count_by_metered_lethe;
count_peer count_by_exact_lethe;
count_peer count_by_sketching_lethe;
count_peer count_for_ever_by_lethe;
count_peer count_json_by_lethe;

/* Options for `lethe count`, and the share of new events that may be lost with them. */
struct count_manner {
    const char *options[2];
    double error;
    bool has_sketch;
    bool reads_json;
};

/* `lethe count` from a pipe; checked likewise. */
void count_feed_lethe(struct count_feed *feed, const char *folder,
                      const struct count_manner *manner, struct count_outcome *out);

/* The engine without files and parsing: operations that lie in memory, up to when the last is
 * durable. Leaves a store. */
count_peer count_by_engine;
/* Opens that store again: applied is the number of ids that the window is filled with. */
count_peer count_open_store;
/* Submits up to COUNT_BATCH lines. Returns how many were applied. */
uint64_t count_submit(lethe_store *store, const char *lines, size_t count, uint64_t *ticket);
/* Touches the memory that submitting them needs of this program. */
void count_warm(const char *lines, size_t count);

#endif
