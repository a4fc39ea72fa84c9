/* watch.h - looks at the store once a second, so that everybody else need not.
 *
 * Rates, the age of the last fold, the events that were probably lost and the largest counters come
 * from here: for the page, for /v1/status and for /metrics. */
#ifndef LETHE_SERVER_WATCH_H
#define LETHE_SERVER_WATCH_H

#include <pthread.h>

#include "lethe/holds.h"
#include "server/caps.h"
#include "server/text.h"
#include "server/waiter.h"

struct server;

/* By lethe_outcome. */
enum { OUTCOMES = LETHE_OUTCOME_LIMITED + 1 };
const char *outcome_name(unsigned outcome);

struct totals {
    uint64_t by_outcome[OUTCOMES];
};

/* What was seen at one moment. */
struct sample {
    double at_s;
    struct totals totals;
    struct latency latency;
};

enum { SAMPLES = 61 };

struct watch {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread, top_thread;
    bool stops, has_thread, has_top_thread;

    double started_s;
    /* One a second, in a ring; the last one is at (count - 1) % SAMPLES. And what was seen last. */
    struct sample samples[SAMPLES], latest;
    uint64_t count;
    lethe_store_stats stats;
    lethe_holds_stats holds;
    /* Looks that were begun, and the last one of them that was noted. */
    uint64_t looks, noted;
    bool has_stats;
    double folded_s;
    uint64_t folded;
    /* Fresh events that were probably taken for duplicates since the server started. */
    double expected_lost;

    /* The largest counters, as JSON, of the time when they were last ranked (0: never); and when
     * somebody last asked for them. */
    struct text top;
    double top_began_s, top_wanted_s, top_at_s, top_took_s;
    /* Answers by the first digit of their status. */
    uint64_t answers[6];
};

/* A copy of what is shown: what was seen last, a second before that, and a minute ago. */
struct view {
    bool has_stats;
    lethe_store_stats stats;
    lethe_holds_stats holds;
    struct sample now, before, minute;
    double uptime_s, fold_age_s, expected_lost;
};
/* Looks at the store first, and waits a moment for the disk, but no longer. */
void watch_view(struct watch *watch, struct view *out);

bool watch_begin(struct watch *watch, struct server *server);
void watch_end(struct watch *watch);

/* Counts an answer. */
void watch_answered(struct watch *watch, unsigned status);

/* Writes the object that /v1/status and /v1/live have. */
void status_write(struct server *server, struct text *out);
/* Writes /metrics. */
void metrics_write(struct server *server, struct text *out);

/* The window and the ledger together: what a fresh id is taken for a duplicate with, now. */
double watch_error(const lethe_store_stats *stats);
uint64_t watch_memory(const lethe_store_stats *stats);
uint64_t watch_disk(const lethe_store_stats *stats);

/* Strain, one after the other: what it is called, what it means, what to do. */
struct strain {
    uint32_t bit;
    const char *code, *text, *remedy;
};
extern const struct strain strains[];
extern const size_t strain_count;

#endif
