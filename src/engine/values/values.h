/* engine/values/values.h - what the store's keys add up to: one interface, two kinds.
 *
 *   counters.c  exact counters: those in use in memory, all of them in COUNTERS on disk
 *   sketched.c  a FID sketch and the most frequent keys, where the keys are too many to store
 *
 * Which kind a store has is decided once, when it is opened (lethe_values_open). What only one kind
 * has is NULL in the other's table; lethe_values_... then returns LETHE_EINVAL or does nothing.
 *
 * Everything here needs the store's lock, except where it says otherwise. */
#ifndef LETHE_ENGINE_VALUES_VALUES_H
#define LETHE_ENGINE_VALUES_VALUES_H

#include "engine/log/group.h"
#include "engine/meters/buckets.h"
#include "engine/operations/prepared.h"
#include "engine/values/held.h"
#include "engine/values/sketch_disk.h"
#include "engine/values/tally.h"
#include "engine/values/walk.h"

enum { LETHE_CHUNK = 1024 /* operations decided together */ };

typedef struct lethe_fold lethe_fold;

/* What a fold takes with the lock, to write it without. */
struct lethe_fold_load {
    lethe_buffer foldings; /* lethe_folding each */
    lethe_buffer beside;   /* lethe_folding_beside each: the buckets beside those, in their order */
    lethe_buffer loose;    /* lethe_folding each, of loose buckets */
    lethe_buffer room;     /* to sort in, taken with the lock */
    lethe_sketch *sketch;
};

/* What lethe_store_check knows so far of a store's values. */
typedef struct lethe_values_check {
    const lethe_state *state;
    lethe_store_health *health;
    /* COUNTERS includes everything up to this commit. */
    uint64_t folded;
    lethe_meters meters;
    /* The sketch, with the changes that were examined so far. */
    lethe_sketch *sketch;
} lethe_values_check;

typedef struct lethe_values_kind {
    lethe_status (*open)(lethe_values *values);
    void (*close)(lethe_values *values);
    lethe_status (*prepare_writes)(lethe_values *values, uint64_t next_commit);
    lethe_status (*replay)(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                           lethe_detail *detail);
    lethe_status (*load)(lethe_values *values, lethe_detail *detail);

    void (*fetch)(lethe_values *values, const lethe_operation *operations,
                  const lethe_prepared_one *prepared, size_t count, const uint8_t *outcomes);
    lethe_status (*change)(lethe_values *values, lethe_group *group,
                           const lethe_operation *operation, size_t change_at, bool *overflows,
                           lethe_detail *detail);
    lethe_status (*finish_chunk)(lethe_values *values);
    void (*abandon_chunk)(lethe_values *values);
    lethe_status (*overwrite)(lethe_values *values, lethe_group *group, lethe_bytes key,
                              const int64_t *value, bool *existed, lethe_detail *detail);

    lethe_status (*read)(lethe_values *values, lethe_bytes key, int64_t *value, bool *found,
                         lethe_detail *detail);
    lethe_status (*estimate)(lethe_values *values, const lethe_bytes *keys, size_t count,
                             lethe_estimate *out);
    lethe_status (*begin_walk)(lethe_values *values, lethe_bytes from, lethe_value_walk *walk);
    lethe_status (*copy_top)(lethe_values *values, size_t n, lethe_value_walk *list);
    void (*info)(lethe_values *values, lethe_store_stats *out);

    lethe_status (*begin_segment)(lethe_buffer *segment);
    lethe_status (*end_segment)(const lethe_values *values, lethe_group *group);
    void (*number_commits)(lethe_values *values, uint64_t next_commit, bool is_folding);

    uint64_t (*fold_after_bytes)(const lethe_values *values);
    bool (*is_too_large)(const lethe_values *values);
    lethe_status (*take_fold)(lethe_values *values, const lethe_fold *fold, lethe_fold_load *load);
    lethe_status (*write_fold)(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                               lethe_detail *detail);
    void (*end_fold)(lethe_values *values, uint64_t cut);
    lethe_status (*evict)(lethe_values *values);

    lethe_status (*check_begin)(lethe_disk *disk, lethe_values_check *check, lethe_detail *detail);
    lethe_status (*check_segment)(lethe_values_check *check, uint64_t commit, lethe_bytes segment);
    lethe_status (*check_record)(lethe_values_check *check, lethe_bytes key, lethe_bytes value);
} lethe_values_kind;

/* A record as it was before the operation at hand changed it. */
typedef struct lethe_undo {
    lethe_tally_record *record;
    int64_t value;
    bool absent;
    /* The change left the range of int64, by which end: 1, -1, or 0 if it did not. */
    int8_t wrap;
} lethe_undo;

/* Exact counters: counters.c. */
typedef struct lethe_counters {
    lethe_tally *tally;
    /* A key that is not in the tally is not in the store. */
    bool is_complete;
    uint64_t memory_limit_bytes;
    /* Folds are not shared between threads. */
    bool is_alone;
    /* Of the changes of a chunk, and of one operation. */
    uint32_t *tags;
    lethe_buffer undo; /* lethe_undo each */
    bool has_wrapped;  /* some of them did */
    /* The stamp of commit n is n - base_commit. Records with a stamp above folded_stamp are not in
     * COUNTERS. */
    uint64_t base_commit;
    uint32_t folded_stamp;
} lethe_counters;

/* A sketch in place of counters: sketched.c. */
typedef struct lethe_sketched {
    lethe_sketch *sketch;
    lethe_sketch_saved saved;
    /* No counter that answers is above the ceiling; at the limit it would be full. */
    uint64_t ceiling, limit;
    /* Operations since the ceiling was computed, and after how many it is computed again. */
    uint64_t unscanned, scan_after;
    /* Additions of the current chunk that are put off to its end. */
    lethe_bytes added_keys[LETHE_CHUNK];
    uint64_t added_weights[LETHE_CHUNK];
    size_t added_count;
    /* lethe_sketch_delta each, of one operation. */
    lethe_buffer deltas;
    uint64_t bytes;
    uint32_t top;
} lethe_sketched;

struct lethe_values {
    const lethe_values_kind *kind;
    const lethe_allocator *allocator;
    lethe_disk *disk;
    uint64_t seed;
    lethe_counters counters;
    /* Of counters, where the store has meters. */
    lethe_meters meters;
    lethe_buckets buckets;
    /* What is held of counters. */
    lethe_held held;
    lethe_sketched sketched;
};

extern const lethe_values_kind lethe_counters_values, lethe_sketch_values;

/* The kind of values of a store with this state: the one place that decides it. */
static inline const lethe_values_kind *lethe_values_kind_of(const lethe_state *state) {
    return state->sketch_bytes > 0 ? &lethe_sketch_values : &lethe_counters_values;
}

/* Makes empty values of the kind that the state says, and with the meters that the store has and,
 * for a writer, those that the options add. The disk is borrowed. Errors: LETHE_ENOMEM, those of
 * lethe_meters_load and lethe_meters_resolve; close frees what there is. */
LETHE_MUST_CHECK lethe_status lethe_values_open(lethe_values *values, lethe_disk *disk,
                                                const lethe_state *state,
                                                const lethe_store_options *options,
                                                lethe_detail *detail);
/* Takes values that were never opened, too. */
void lethe_values_close(lethe_values *values);
/* What only a writer needs, whose first commit is next_commit. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_values_prepare_writes(lethe_values *values,
                                                          uint64_t next_commit);

/* Makes the values what COUNTERS and the log's changes say, and fills in fold's numbers of these
 * changes. On error the values are not to be used. */
LETHE_MUST_CHECK lethe_status lethe_values_replay(lethe_values *values, const lethe_state *state,
                                                  lethe_fold *fold, lethe_detail *detail);
/* After replay, for a writer: reads from disk what may be needed soon. */
LETHE_MUST_CHECK lethe_status lethe_values_load(lethe_values *values, const lethe_state *state,
                                                lethe_detail *detail);

/* Has what is known of the keys of a chunk fetched from memory, so that the cache misses of all of
 * them overlap. Operations whose outcome is LETHE_OUTCOME_INVALID are left out. prepared has the
 * same operations, or is NULL. */
static inline void lethe_values_fetch(lethe_values *values, const lethe_operation *operations,
                                      const lethe_prepared_one *prepared, size_t count,
                                      const uint8_t *outcomes) {
    values->kind->fetch(values, operations, prepared, count, outcomes);
}

/* Makes all changes of an operation in the filling group; or none, and *overflows becomes true.
 * change_at counts the changes of the operations that were fetched before it in its chunk. The
 * operation's bytes are needed until the chunk is finished. */
LETHE_MUST_CHECK static inline lethe_status
lethe_values_change(lethe_values *values, lethe_group *group, const lethe_operation *operation,
                    size_t change_at, bool *overflows, lethe_detail *detail) {
    return values->kind->change(values, group, operation, change_at, overflows, detail);
}

/* Ends a chunk: makes what was put off. */
LETHE_MUST_CHECK static inline lethe_status lethe_values_finish_chunk(lethe_values *values) {
    return values->kind->finish_chunk(values);
}
/* In place of finish_chunk, after an error: the changes that were put off are never made. */
static inline void lethe_values_abandon_chunk(lethe_values *values) {
    if (values->kind->abandon_chunk != NULL) values->kind->abandon_chunk(values);
}

/* Sets a counter, or deletes it where value is NULL. Errors: LETHE_EINVAL (a sketch has none). */
LETHE_MUST_CHECK lethe_status lethe_values_overwrite(lethe_values *values, lethe_group *group,
                                                     lethe_bytes key, const int64_t *value,
                                                     bool *existed, lethe_detail *detail);

/* The value of a key; 0, and not found, for one that is not there or can't be. */
LETHE_MUST_CHECK lethe_status lethe_values_read(lethe_values *values, lethe_bytes key,
                                                int64_t *value, bool *found, lethe_detail *detail);
/* The stamps of records start again when they are large: to be called when a group begins. */
void lethe_values_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding);

static inline bool lethe_is_key(lethe_bytes key) {
    return key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES && key.data != NULL;
}

#endif
