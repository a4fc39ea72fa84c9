/* window/table.h - one table of the forgetful quotient filter: entries that carry their age.
 *
 * A table is planned for a number of ids and an error, and never changes its shape. chain.h keeps
 * several of them in a row: that is how a window grows and shrinks. table.c has the essay. */
#ifndef LETHE_WINDOW_TABLE_H
#define LETHE_WINDOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/window.h"
#include "window/queue.h"

/* Places to count the entries of a period in: more than there are periods alive. */
enum { LETHE_TABLE_PERIODS = 64 };

struct lethe_table_shape {
    struct lethe_queue_shape queue; /* of a block */
    uint64_t segments;
    uint64_t blocks;   /* of a segment */
    uint64_t capacity; /* entries alive at once, of all segments together */
    size_t segment_bytes;
};

struct lethe_table_operations;

typedef struct lethe_table {
    struct lethe_table_shape shape;
    unsigned char **segments; /* NULL until something is recorded there */
    uint64_t remainder_mask;
    const struct lethe_table_operations *operations;
    const lethe_allocator *allocator;
    uint64_t period;                        /* the latest it was told of */
    uint64_t alive;                         /* entries not expired in that period */
    uint64_t recorded[LETHE_TABLE_PERIODS]; /* entries of period i, at i mod 64 */
    uint64_t segments_allocated;
    uint64_t sweep_block; /* the next block of all that the slow sweep visits */
} lethe_table;

/* The first two are also what a batch answers. */
typedef enum lethe_table_result {
    LETHE_TABLE_ADDED = LETHE_FRESH,
    LETHE_TABLE_IS_DUPLICATE = LETHE_DUPLICATE,
    LETHE_TABLE_IS_FULL,
    LETHE_TABLE_NO_MEMORY
} lethe_table_result;

/* What touches single entries, compiled for each instruction set. period is never before the
 * table's own. */
struct lethe_table_operations {
    /* Asks for the memory that an id's other operations will read. */
    void (*prefetch)(const lethe_table *table, lethe_hash id);
    bool (*check)(const lethe_table *table, lethe_hash id, uint64_t period);
    /* Both for one table: adds the id unless it is there. */
    lethe_table_result (*check_and_insert)(lethe_table *table, lethe_hash id, uint64_t period);
    lethe_table_result (*insert)(lethe_table *table, lethe_hash id, uint64_t period);
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
    /* Refreshes each id that is there and inserts the others; *inserted counts these. Returns as
     * check_and_insert_batch does. */
    size_t (*record_batch)(lethe_table *table, const lethe_hash *ids, size_t id_count,
                           uint64_t period, uint64_t *inserted, lethe_table_result *result);
    /* Drops what has expired from blocks first..first+count-1 of all. */
    void (*sweep)(lethe_table *table, uint64_t first, uint64_t count, uint64_t period);
};

/* What lethe_table_plan chooses for errors of 1e-6, 1e-3 and 1e-12, where the number of ids is known. */
enum { LETHE_TABLE_USUAL = 3 };
static const struct lethe_queue_shape lethe_table_usual[LETHE_TABLE_USUAL] = {
    {.bits = 25, .generations = 30, .block_bytes = 64, .slots = 18, .head_at = 56},
    {.bits = 16, .generations = 30, .block_bytes = 64, .slots = 27, .head_at = 54},
    {.bits = 47, .generations = 30, .block_bytes = 128, .slots = 20, .head_at = 119},
};

/* For each instruction set: the operations on tables of each usual shape, and of any shape. */
extern const struct lethe_table_operations lethe_table_portable[LETHE_TABLE_USUAL + 1];
#if defined(__x86_64__)
extern const struct lethe_table_operations lethe_table_bmi2[LETHE_TABLE_USUAL + 1];
#endif

/* Those of a set that are made for a shape. */
const struct lethe_table_operations *
lethe_table_operations_for(const struct lethe_table_operations *set,
                           const struct lethe_queue_shape *shape);

/* Plans a table for capacity entries alive at once and at most that error. Its segments have
 * 2 to 4 MiB; a small table has one smaller segment. False when that is out of range. */
bool lethe_table_plan(uint64_t capacity, double error, unsigned generations,
                      struct lethe_table_shape *out);

/* Fills in what follows from the rest of a shape that was saved (bits, generations and bytes of a block,
 * segments, blocks, capacity); false when it is not one that lethe_table_plan could have made. */
bool lethe_table_finish_shape(struct lethe_table_shape *shape);

/* Whether its segments have the 2 MiB at least that lethe_table_plan gives them where there are several. With smaller ones their
 * list would be long for what they hold. */
bool lethe_table_has_whole_segments(const struct lethe_table_shape *shape);

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

/* Brings the table's counts to period. Sweeps only what can't wait any longer: nothing, where lethe_table_sweep is called
 * often enough. */
void lethe_table_advance(lethe_table *table, uint64_t period);

/* Whether there would be something that can't wait. */
bool lethe_table_is_urgent_at(const lethe_table *table, uint64_t period);

/* Goes on with the sweep, over at most that many bytes of blocks. Returns how many. */
size_t lethe_table_sweep(lethe_table *table, size_t most_bytes);
/* The blocks that the sweep is behind. */
uint64_t lethe_table_sweep_lag(const lethe_table *table);

/* Derives the counts from the segments, for a table that was loaded; false when a block is not one
 * that these functions could have made. Cost: O(segments). */
bool lethe_table_recount(lethe_table *table);

/* Entries alive in a period that is not before the table's own; changes nothing. */
uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period);

/* The oldest period of which an entry is alive then; false when none is. */
bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest);

/* The probability that a fresh id matches an entry, with that many alive. */
double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive);

static inline unsigned char *lethe_table_block(const lethe_table *table, unsigned char *segment,
                                               uint64_t block) {
    return segment + block * table->shape.queue.block_bytes;
}

/* The other block of the entry with that remainder, from either of its two: their numbers add up, modulo
 * the number of blocks, to one that the remainder gives. So an entry can be moved without its id. */
static inline uint64_t lethe_table_other_block(const lethe_table *table, uint64_t remainder,
                                               uint64_t block) {
    uint64_t scrambled = (remainder * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    uint64_t sum = (scrambled * table->shape.blocks) >> 32;
    return sum >= block ? sum - block : sum + table->shape.blocks - block;
}

#endif
