/* paper/ring.h - the paper's store of counters, simulated: Sections V and VI-D.
 *
 * Ten nodes in a ring hold one counter, replicated three times. A client sends increments, each
 * with an id, to coordinators in turn. A coordinator hands an increment to one of the replicas, its
 * leader. The leader asks its filter, writes its commit log, adds to its local shard, and sends the
 * new total of that shard with the id to the other replicas, which keep it as a remote shard
 * (Figures 5 to 7). Some acknowledgements are lost, and the client sends the increment again. One
 * node crashes and replays its log. Another one is killed for good, and the next node of the ring
 * takes its place.
 *
 * Time is virtual, in milliseconds, and chance comes from a seed: every run is the same. A ring has
 * one counter, so that counters with different filters are rings with the same seed. */
#ifndef LETHE_CLI_PAPER_RING_H
#define LETHE_CLI_PAPER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

/* What the replicas keep ids in. */
enum ring_filter_kind {
    RING_NONE,
    RING_BASIC,     /* a basic FBF of Figure 11's size, as printed, not resized */
    RING_PRINTED,   /* a small one with Algorithm 3, as printed */
    RING_CORRECTED, /* the same, corrected */
    RING_WINDOW,    /* lethe_window */
    RING_KINDS
};

struct ring_options {
    enum ring_filter_kind kind;
    uint64_t seed;
    uint64_t length_ms;
    double (*rate_at)(double second); /* increments a second */
    double lost_share;                /* of the acknowledgements of first tries */
    uint64_t crash_ms;                /* a replica crashes, and replays its log; 0: none does */
    uint64_t kill_ms;                 /* a replica is killed for good; 0: none is */
    bool dies_sending; /* the killed one dies between its last two messages, not before them */
};

struct ring_result {
    uint64_t expected;       /* increments that reached a replica, each once */
    int64_t value;           /* the newest shard of every node, as replicas learn in the end */
    int64_t value_to_letter; /* at one replica by Section V-C: of its remote shards only one */
    uint64_t retries;        /* that reached a replica */
    uint64_t doubled;        /* that were applied once more */
    uint64_t dismissed;      /* increments that were new, and taken for retries */
    uint64_t replayed;       /* increments that a replayed log applied again */
};

/* Runs a ring. Calls on_second at the end of each second with what stands then. */
lethe_status ring_run(const struct ring_options *options,
                      void (*on_second)(void *context, unsigned second,
                                        const struct ring_result *result),
                      void *context, struct ring_result *out);

/* A filter that a replica asks. Of the kind none there is no object, and every id is fresh. */
struct ring_filter {
    enum ring_filter_kind kind;
    void *object;
};
lethe_status ring_filter_new(enum ring_filter_kind kind, struct ring_filter *out);
void ring_filter_free(struct ring_filter *filter);
/* Replaces to by what from remembers: a filter is handed over, or saved and read back, as bytes. */
lethe_status ring_filter_replace(struct ring_filter *to, const struct ring_filter *from);
/* Algorithm 1: *is_fresh is whether the id was not known. Then it is now. */
lethe_status ring_filter_take(struct ring_filter *filter, uint64_t id, uint64_t now_ms,
                              bool *is_fresh);

/* How long a client sends an increment again: the window of every filter as it begins. */
enum { RING_TIMEOUT_MS = 10000 };

/* When Algorithm 3 starts: not in a filter that is still empty, whose period it would lengthen. */
enum { RING_RESIZE_MS = 15000 };

#endif
