/* window/table.h - one table of the forgetful quotient filter: entries that have an age.
 *
 * A table is planned for a number of ids and an error, and never changes its shape. A chain
 * (chain.h) of several tables is what grows and shrinks. table.c has the essay. */
#ifndef LETHE_WINDOW_TABLE_H
#define LETHE_WINDOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/window.h"
#include "window/queue.h"

/* The size of the ring of counts per period: more than the periods that can be alive at once. */
enum { LETHE_TABLE_PERIODS = 64 };

struct lethe_table_shape {
    /* The shape of a block. */
    struct lethe_queue_shape queue;

    uint64_t segments;
    /* Per segment. */
    uint64_t blocks;
    size_t segment_bytes;

    /* Living entries at most, in all segments together. */
    uint64_t capacity;
};

struct lethe_table_operations;

typedef struct lethe_table {
    struct lethe_table_shape shape;

    /* A segment is NULL until an id is added to it. */
    unsigned char **segments;
    uint64_t segments_allocated;
    uint64_t remainder_mask;
    const struct lethe_table_operations *operations;
    const lethe_allocator *allocator;

    /* The latest period that the table has seen, and the entries that are alive in it. */
    uint64_t period;
    uint64_t alive;
    /* The number of entries added in period i, at index i mod 64. */
    uint64_t added[LETHE_TABLE_PERIODS];

    /* The next block, counted over all segments, that the slow sweep visits. */
    uint64_t sweep_block;
} lethe_table;

/* The first two are also the answers of a batch. */
typedef enum lethe_table_result {
    LETHE_TABLE_ADDED = LETHE_ANSWER_FRESH,
    LETHE_TABLE_IS_DUPLICATE = LETHE_ANSWER_DUPLICATE,
    LETHE_TABLE_IS_FULL,
    LETHE_TABLE_NO_MEMORY
} lethe_table_result;

/* The operations on entries, compiled once per instruction set. period is never before the table's
 * own. */
struct lethe_table_operations {
    /* Prefetches the memory that the other operations on an id will read. */
    void (*prefetch)(const lethe_table *table, lethe_hash id);

    bool (*test)(const lethe_table *table, lethe_hash id, uint64_t period);

    /* Adds the id unless it is there. */
    lethe_table_result (*add_and_test)(lethe_table *table, lethe_hash id, uint64_t period);

    /* Adds an id that is known not to be there. */
    lethe_table_result (*insert)(lethe_table *table, lethe_hash id, uint64_t period);

    /* The number of living entries that match the id: its own entry, and by chance those of
     * other ids with the same fingerprint. */
    unsigned (*count_matches)(const lethe_table *table, lethe_hash id, uint64_t period);

    /* Removes one entry of the id; false if there is none. */
    bool (*remove)(lethe_table *table, lethe_hash id, uint64_t period);

    /* Looks for ids in all tables. */
    void (*test_batch)(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                       size_t id_count, uint64_t period, uint8_t *answers);

    /* Looks for ids in all tables and adds the fresh ones to the first. Returns the number of
     * ids it dealt with. That is less than id_count if an id could not be added; *result is the
     * reason. */
    size_t (*add_and_test_batch)(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                                 size_t id_count, uint64_t period, uint8_t *answers,
                                 lethe_table_result *result);

    /* Refreshes each id that is there and adds the others; *inserted is the number of the others.
     * Returns the same as add_and_test_batch. */
    size_t (*add_batch)(lethe_table *table, const lethe_hash *ids, size_t id_count, uint64_t period,
                        uint64_t *inserted, lethe_table_result *result);

    /* Drops expired entries from blocks first to first + count - 1, counted over all segments. */
    void (*sweep)(lethe_table *table, uint64_t first, uint64_t count, uint64_t period);
};

/* The shapes that lethe_table_plan chooses for errors of 1e-6, 1e-3 and 1e-12 if the capacity is
 * given. */
enum { LETHE_TABLE_USUAL = 3 };
static const struct lethe_queue_shape lethe_table_usual[LETHE_TABLE_USUAL] = {
    {.bits = 25, .generations = 30, .block_bytes = 64, .slots = 18, .head_at = 56},
    {.bits = 16, .generations = 30, .block_bytes = 64, .slots = 27, .head_at = 54},
    {.bits = 47, .generations = 30, .block_bytes = 128, .slots = 20, .head_at = 119},
};

/* For each instruction set: the operations on tables of each usual shape, and then of any shape. */
extern const struct lethe_table_operations lethe_table_portable[LETHE_TABLE_USUAL + 1];
#if defined(__x86_64__)
extern const struct lethe_table_operations lethe_table_bmi2[LETHE_TABLE_USUAL + 1];
#endif

/* The operations, out of such a set, that fit a shape. */
const struct lethe_table_operations *
lethe_table_operations_for(const struct lethe_table_operations *set,
                           const struct lethe_queue_shape *shape);

/* Plans a table for capacity living entries and at most that error. Segments have 2 to 4 MiB; a
 * small table has one smaller segment. False if that is out of range. */
bool lethe_table_plan(uint64_t capacity, double error, unsigned generations,
                      struct lethe_table_shape *out);

/* Fills in the derived fields of a shape that was saved (bits, generations, block_bytes, segments,
 * blocks and capacity). False if lethe_table_plan could not have made it. */
bool lethe_table_finish_shape(struct lethe_table_shape *shape);

/* Whether a table with several segments has segments of at least 2 MiB, as lethe_table_plan
 * makes them. A forged table of smaller segments could have a huge list of segments with little
 * in them. */
bool lethe_table_has_whole_segments(const struct lethe_table_shape *shape);

/* The memory of a table with all its segments allocated, and of a table as it is. */
uint64_t lethe_table_planned_bytes(const struct lethe_table_shape *shape);
uint64_t lethe_table_allocated_bytes(const lethe_table *table);

/* Makes an empty table. Segments are allocated when they are needed. NULL if out of memory. */
lethe_table *lethe_table_new(const struct lethe_table_shape *shape, uint64_t period,
                             const lethe_allocator *allocator);
/* Takes NULL. */
void lethe_table_free(lethe_table *table);
/* Frees at most budget segments, from the last one on. True if none is left. */
bool lethe_table_free_some(lethe_table *table, unsigned budget);

/* Allocates segment number index if necessary; false if out of memory. */
bool lethe_table_ensure_segment(lethe_table *table, uint64_t index);

/* Brings the table's counts to period. Sweeps only the blocks that cannot wait any longer; there
 * are none if lethe_table_sweep is called often enough. */
void lethe_table_advance(lethe_table *table, uint64_t period);

/* Whether advancing to period would have to sweep blocks. */
bool lethe_table_is_urgent_at(const lethe_table *table, uint64_t period);

/* Continues the sweep over at most that many bytes of blocks. Returns the bytes it swept. */
size_t lethe_table_sweep(lethe_table *table, size_t most_bytes);
/* By how many blocks the sweep lags. */
uint64_t lethe_table_sweep_lag(const lethe_table *table);

/* Derives the counts of a loaded table from its segments; false if these functions could not
 * have made one of its blocks. Cost: O(segments). */
bool lethe_table_recount(lethe_table *table);

/* The entries alive in a period that is not before the table's own. Changes nothing. */
uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period);

/* The oldest period of which an entry is still alive in period; false if there is none. */
bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest);

/* The probability that a fresh id matches an entry, if that many are alive. */
double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive);

static inline unsigned char *lethe_table_block(const lethe_table *table, unsigned char *segment,
                                               uint64_t block) {
    return segment + block * table->shape.queue.block_bytes;
}

/* The other block of an entry with that remainder. The numbers of its two blocks add up, modulo the
 * number of blocks, to a number that the remainder determines. So an entry can move although its id
 * is unknown. */
static inline uint64_t lethe_table_other_block(const lethe_table *table, uint64_t remainder,
                                               uint64_t block) {
    uint64_t scrambled = (remainder * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    uint64_t sum = (scrambled * table->shape.blocks) >> 32;
    return sum >= block ? sum - block : sum + table->shape.blocks - block;
}

#endif
