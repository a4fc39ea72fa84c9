/* simulation/module/model.h - what once-tables and forgetful filters should answer, by the
 * promises alone.
 *
 * A table's time is the true time and a base. An id that was applied within W must be a
 * duplicate; one whose age is beyond W and the slack must be fresh; in between the table
 * decides. `fast_ms` is by how much the table may have aged faster than true time (because a
 * wall clock was set ahead while its machine was off), `slow_ms` by how much slower. */
#ifndef LETHE_SIMULATION_MODULE_MODEL_H
#define LETHE_SIMULATION_MODULE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MODEL_TABLES = 6,
    MODEL_IDS = 192,
    MODEL_PERIODS = 2,
    MODEL_KEPT = 2,
    MODEL_CLAIMS = 5,
    MODEL_HOLDS = 5
};

/* Besides a witness per id, a table has a counter under a limit, from which all ids take, and one
 * that is held of. */
enum { MODEL_SHARED = MODEL_IDS, MODEL_HELD, MODEL_COUNTERS };

/* So long ago that no table knows of it. */
#define MODEL_NEVER_MS (INT64_MIN / 4)
/* Longer than a simulation lasts. */
#define MODEL_LONG_MS (INT64_C(1) << 50)

/* A claim: whose it is, since when by the table's time, and how long its lease is, at least and at
 * most; or that it is done, with which reply. */
typedef struct model_claim {
    uint8_t state;
    bool is_gone;
    uint16_t holder;
    uint32_t reply;
    int64_t at_ms, fast_ms, slow_ms, least_ms, most_ms;
    /* The master has said that it has forgotten it. That is no part of the stream, so another
     * master, or the same one after a restart, whose clock may be behind, may know it still. */
    bool is_unknown;
    /* How many bytes of replies the table had kept before. */
    int64_t reply_begin;
} model_claim;

/* A hold: since when by the table's time, and how long its lease is, at least and at most; or when
 * it ended, and how. */
typedef struct model_hold {
    uint8_t state, amount, actual;
    /* By which its bucket goes. */
    int64_t wall_ms;
    int64_t at_ms, fast_ms, slow_ms, least_ms, most_ms;
} model_hold;

typedef struct model_table {
    bool exists;
    /* Which table it is, of those that have had this name. */
    uint32_t born;
    /* FBF.*: ids only, and no witnesses. */
    bool is_filter;
    /* ONCE.*: the window is of the forgetful kind, and takes no id back. */
    bool is_forgetful;
    uint32_t window_ms;
    int64_t base_ms, fast_ms, slow_ms;
    /* It came from elsewhere, and no timer has seen it yet: its age is not known after a crash. */
    bool is_unstamped;
    /* When the stream last said something of it. */
    int64_t told_ms;
    /* FBF.*: its master could not do as replicas do. They answer alike, in other bytes. */
    bool lacked_memory;

    /* When each id was last applied, by the table's time; and how often, as its witness says. */
    int64_t applied_ms[MODEL_IDS];
    uint16_t times[MODEL_COUNTERS];

    /* Per which periods it counts, and how many buckets it keeps of each; a length of 0: it does
     * not. What the buckets of each witness are: the number of the period since 1970, in any order,
     * and the value, 0 where there is none. */
    uint32_t period_ms[MODEL_PERIODS], keep[MODEL_PERIODS];
    int32_t bucket[MODEL_COUNTERS][MODEL_PERIODS][MODEL_KEPT];
    uint16_t bucket_value[MODEL_COUNTERS][MODEL_PERIODS][MODEL_KEPT];

    model_claim claims[MODEL_CLAIMS];
    /* Of all replies so far. */
    int64_t reply_bytes;

    model_hold holds[MODEL_HOLDS];
} model_table;

typedef struct model {
    model_table tables[MODEL_TABLES];
} model;

typedef enum model_answer { MODEL_APPLIED, MODEL_DUPLICATE, MODEL_EITHER } model_answer;

static inline model_answer model_expect(const model_table *table, unsigned id, int64_t now_ms) {
    int64_t age_ms = now_ms + table->base_ms - table->applied_ms[id];
    if (age_ms + table->fast_ms <= table->window_ms) return MODEL_DUPLICATE;
    if (age_ms - table->slow_ms > table->window_ms + table->window_ms / 4) return MODEL_APPLIED;
    return MODEL_EITHER;
}

/* counts: on its witness as well, not in the window alone. */
static inline void model_note(model_table *table, unsigned id, int64_t now_ms, bool counts) {
    if (counts) table->times[id]++;
    table->applied_ms[id] = now_ms + table->base_ms;
}

static inline void model_forget(model_table *table, unsigned id) {
    table->applied_ms[id] = MODEL_NEVER_MS;
}

#endif
