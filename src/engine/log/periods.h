/* engine/log/periods.h - stretches of the log's ids, each of which is dropped as a whole. */
#ifndef LETHE_ENGINE_LOG_PERIODS_H
#define LETHE_ENGINE_LOG_PERIODS_H

#include "lethe/store.h"

/* A period of a window is this share of it. */
enum { LETHE_PERIODS_PER_WINDOW = 16 };

/* The commits of a stretch of the store's time. */
typedef struct lethe_period {
    uint64_t first_ms, last_ms;
    uint64_t first_commit, last_commit;
    uint64_t ids;
} lethe_period;

/* The oldest first. */
typedef struct lethe_periods {
    lethe_period all[LETHE_PERIODS_SHOWN];
    uint32_t count;
} lethe_periods;

/* Adds a commit, which is later than those before, to the newest period or to a new one. */
void lethe_periods_add(lethe_periods *periods, uint64_t window_ms, uint64_t commit,
                       uint64_t clock_ms, uint64_t ids);
/* The same with a commit that is earlier than all others. */
void lethe_periods_add_first(lethe_periods *periods, uint64_t commit, uint64_t clock_ms,
                             uint64_t ids);

/* All ids of all periods. */
uint64_t lethe_periods_ids(const lethe_periods *periods);
/* Forgets the `count` oldest, and returns how many ids they had. */
uint64_t lethe_periods_drop(lethe_periods *periods, uint32_t count);

#endif
