/* window/table.h - one table of the forgetful quotient filter: entries that carry their age.
 *
 * A table is planned for a number of ids and an error, and never changes its shape. chain.h keeps
 * several of them in a row: that is how a window grows and shrinks. table.c has the essay. */
#ifndef LETHE_WINDOW_TABLE_H
#define LETHE_WINDOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/quotient/block.h"
#include "lethe/allocator.h"
#include "lethe/hash.h"

enum {
    LETHE_TABLE_MAX_PLANES = 6,
    LETHE_TABLE_MAX_AGES = 1 << LETHE_TABLE_MAX_PLANES,
    LETHE_TABLE_MAX_REMAINDER_BITS = 52
};

/* How full a table gets, in entries alive, when it is at its capacity. */
#define LETHE_TABLE_FULL_LOAD 0.93

struct lethe_table_shape {
    unsigned remainder_bits;
    unsigned planes;      /* bits of an age */
    unsigned generations; /* G: an entry of age 0..G is alive; G + 2 <= 2^planes */
    uint64_t segments;
    uint64_t blocks;   /* of a segment */
    uint64_t capacity; /* entries alive at once, of all segments together */
    uint64_t stash;    /* places for entries that found both their blocks full */
    size_t head_bytes; /* of a block: counts and ages */
    size_t segment_bytes;
};

/* An entry outside the blocks: its id in 64 bits (0: removed) and its period plus one (0: empty). */
struct lethe_table_stray {
    uint64_t key, period;
};

struct lethe_table_operations;

typedef struct lethe_table {
    struct lethe_table_shape shape;
    unsigned char **segments;        /* NULL until something is recorded there */
    struct lethe_table_stray *stash; /* NULL until an entry is put there */
    uint64_t strays;                 /* entries ever put there and not known to have expired */
    uint64_t remainder_mask;
    size_t remainders_at, stamps_at; /* where these begin in a segment, in bytes */
    const struct lethe_table_operations *operations;
    const lethe_allocator *allocator;
    uint64_t period;                         /* the latest it was told of */
    uint64_t alive;                          /* entries not expired in that period */
    uint64_t recorded[LETHE_TABLE_MAX_AGES]; /* entries of period i, at i mod 2^planes */
    uint64_t segments_allocated;
    uint64_t sweep_block; /* the next block of all that the slow sweep visits */
} lethe_table;

typedef enum lethe_table_result {
    LETHE_TABLE_ADDED,
    LETHE_TABLE_IS_FULL,
    LETHE_TABLE_NO_MEMORY
} lethe_table_result;

/* What touches single entries, compiled for each instruction set. period is never before the
 * table's own. */
struct lethe_table_operations {
    bool (*check)(const lethe_table *table, lethe_hash id, uint64_t period);
    /* Both for one table: adds the id unless it is there. */
    lethe_table_result (*check_and_insert)(lethe_table *table, lethe_hash id, uint64_t period,
                                           bool *is_duplicate);
    lethe_table_result (*insert)(lethe_table *table, lethe_hash id, uint64_t period);
    /* Sets the age of an entry that is there to now; false when none is. */
    bool (*refresh)(lethe_table *table, lethe_hash id, uint64_t period);
    /* How many living entries the id matches: its own, and with luck against it others'. */
    unsigned (*count_matches)(const lethe_table *table, lethe_hash id, uint64_t period);
    /* Removes one entry; false when none is there. */
    bool (*remove)(lethe_table *table, lethe_hash id, uint64_t period);
    void (*check_batch)(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                        size_t id_count, uint64_t period, uint8_t *answers);
    /* Checks all tables and inserts what is fresh into the first. Returns how many ids it did:
     * fewer than id_count when an insert failed, with *result telling why. */
    size_t (*check_and_insert_batch)(lethe_table *const *tables, unsigned count,
                                     const lethe_hash *ids, size_t id_count, uint64_t period,
                                     uint8_t *answers, lethe_table_result *result);
    /* Drops what has expired from blocks first..first+count-1 of all. */
    void (*sweep)(lethe_table *table, uint64_t first, uint64_t count, uint64_t period);
};

extern const struct lethe_table_operations lethe_table_portable;
#if defined(__x86_64__)
extern const struct lethe_table_operations lethe_table_bmi2;
#endif

/* Plans a table for capacity entries alive at once and at most that error. Its segments have
 * about 2 MiB; a small table has one smaller segment. False when that is out of range. */
bool lethe_table_plan(uint64_t capacity, double error, unsigned generations,
                      struct lethe_table_shape *out);

/* Fills in the segment's size of a shape that was saved; false when it is not one that
 * lethe_table_plan could have made. */
bool lethe_table_finish_shape(struct lethe_table_shape *shape);

/* Memory of the table when all its segments are allocated. */
uint64_t lethe_table_planned_bytes(const struct lethe_table_shape *shape);
uint64_t lethe_table_allocated_bytes(const lethe_table *table);

/* Makes an empty table; segments come as they are needed. NULL when there is no memory. */
lethe_table *lethe_table_new(const struct lethe_table_shape *shape, uint64_t period,
                             const lethe_allocator *allocator);
/* Takes NULL. */
void lethe_table_free(lethe_table *table);
/* Frees at most budget segments, last first; true when none is left. */
bool lethe_table_free_some(lethe_table *table, unsigned budget);

/* Allocates segment number index if need be; false when there is no memory. */
bool lethe_table_ensure_segment(lethe_table *table, uint64_t index);

/* Makes the stash, if need be; false when there is no memory. */
bool lethe_table_ensure_stash(lethe_table *table);

/* The living stray of an id, or NULL. Only worth asking when strays is not 0. */
struct lethe_table_stray *lethe_table_find_stray(const lethe_table *table, lethe_hash id,
                                                 uint64_t period);
/* Puts an entry into the stash; false when there is no place. */
bool lethe_table_add_stray(lethe_table *table, lethe_hash id, uint64_t period);

/* Brings the table's counts to period, and sweeps a little. */
void lethe_table_advance(lethe_table *table, uint64_t period);

/* Derives the counts from the segments, for a table that was loaded; false when a block is not one
 * that these functions could have made. Cost: O(segments). */
bool lethe_table_recount(lethe_table *table);

/* Entries alive in a period that is not before the table's own; changes nothing. */
uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period);

/* The oldest period of which an entry is alive then; false when none is. */
bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest);

/* The probability that a fresh id matches an entry, with that many alive. */
double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive);

/* A segment holds first the heads of all its blocks (counts, then ages), then all remainders, then
 * all stamps, and some bytes that keep every access inside. */
static inline uint64_t *lethe_table_unary(const lethe_table *table, unsigned char *segment,
                                          uint64_t block) {
    return (uint64_t *)(segment + block * table->shape.head_bytes);
}

static inline uint32_t *lethe_table_planes(const lethe_table *table, unsigned char *segment,
                                           uint64_t block) {
    return (uint32_t *)(lethe_table_unary(table, segment, block) + 1);
}

static inline uint8_t *lethe_table_stamp(const lethe_table *table, unsigned char *segment,
                                         uint64_t block) {
    return segment + table->stamps_at + block;
}

#endif
