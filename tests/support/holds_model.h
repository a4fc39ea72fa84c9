/* tests/support/holds_model.h - what holds and operations with bounds must come to: a model of a
 * few ids and keys, in a store whose clocks the test sets (life.h).
 *
 * The wall clock's hours and days are the buckets. Which of them retention has dropped, the store
 * says. */
#ifndef LETHE_TESTS_SUPPORT_HOLDS_MODEL_H
#define LETHE_TESTS_SUPPORT_HOLDS_MODEL_H

#include "lethe/holds.h"
#include "support/life.h"

enum { IDS = 12, KEYS = 3, WINDOW_MS = 8000, HOURS = 4000 };
enum { BY_HOUR, BY_DAY, RESOLUTIONS };
#define START_MS UINT64_C(1700006400000) /* a midnight */
#define HOUR_MS UINT64_C(3600000)

struct model_hold {
    lethe_hold_state state; /* open also if the lease has ended */
    unsigned key;
    int64_t amount, max, actual;
    int place; /* 0: the counter; otherwise a resolution, from 1 on */
    uint64_t deadline_ms, ended_ms, wall_ms;
    uint64_t true_ms; /* the lease may not end before this, whatever the clocks say */
};

struct model {
    struct test_life life;
    bool has_meters, by_events;
    struct model_hold holds[IDS];
    int64_t values[KEYS];
    int64_t buckets[RESOLUTIONS][HOURS][KEYS];
    uint64_t kept_from_ms[RESOLUTIONS];
    uint64_t forced, operations;
};

/* The hold of an id; it is forgotten if it ended more than W ago. */
struct model_hold *model_known(struct model *model, unsigned id);
/* Neither settled nor released. */
bool model_is_unsettled(const struct model_hold *hold);
/* Whether something is held for it. */
bool model_runs(const struct model *model, const struct model_hold *hold);
/* When it ended, or its lease will. */
uint64_t model_end_of(const struct model_hold *hold);

/* Of a counter, or of its bucket of a moment: whether retention has dropped it, its value, what is
 * held of it, what is left under a limit. */
bool model_is_dropped(const struct model *model, int place, uint64_t at_ms);
int64_t model_value_of(const struct model *model, unsigned key, int place, uint64_t at_ms);
int64_t model_held_of(struct model *model, unsigned key, int place, uint64_t at_ms);
int64_t model_left_under(struct model *model, unsigned key, int place, uint64_t at_ms, int64_t max);
/* Adds to a counter, and to its buckets of a moment. */
void model_add(struct model *model, unsigned key, int64_t delta, uint64_t at_ms);

/* Asks the store where retention has come to. */
void model_note_retention(struct model *model);
/* Compares what the store says of a limit. */
void model_compare_limit(struct model *model, const lethe_limit *limit, unsigned key, int place,
                         uint64_t at_ms, int64_t max, bool is_limited);

#endif
