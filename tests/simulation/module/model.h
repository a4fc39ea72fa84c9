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

enum { MODEL_TABLES = 6, MODEL_IDS = 192 };

/* So long ago that no table knows of it. */
#define MODEL_NEVER_MS (INT64_MIN / 4)

typedef struct model_table {
    bool exists;
    /* FBF.*: ids only, and no witnesses. */
    bool is_filter;
    /* ONCE.*: the window is of the forgetful kind, and takes no id back. */
    bool is_forgetful;
    uint32_t window_ms;
    int64_t base_ms, fast_ms, slow_ms;
    /* It came from elsewhere, and no timer has seen it yet: its age is not known after a crash. */
    bool is_unstamped;
    /* Its master could not do as replicas do. They answer alike, in other bytes. */
    bool lacked_memory;

    /* When each id was last applied, by the table's time; and how often, as its witness says. */
    int64_t applied_ms[MODEL_IDS];
    uint16_t times[MODEL_IDS];
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
